"""Known names of places, organisations, products and people, in English and German.

From general knowledge: a guess at frequent names. The first lists have names that mean nothing else
in lower case, in either language. Other names are listed as capitalised, and count only in that
form. Words that often begin a sentence ("Will", "May", "Mark") are left out.
"""

from __future__ import annotations

import re

from memolith.text.lexicon.language import word_set

_COUNTRIES = """
afghanistan albania albanien algeria algerien angola argentina argentinien armenia armenien
australia australien austria österreich azerbaijan aserbaidschan bangladesh bangladesch belarus
belgium belgien bolivia bolivien bosnia bosnien botswana brazil brasilien bulgaria bulgarien
cambodia kambodscha cameroon kamerun canada kanada chile china colombia kolumbien croatia kroatien
cuba kuba cyprus zypern czechia tschechien denmark dänemark ecuador egypt ägypten england estonia
estland ethiopia äthiopien finland finnland france frankreich georgien germany deutschland ghana
greece griechenland guatemala haiti honduras hungary ungarn iceland india indien indonesia
indonesien iran iraq irak ireland irland israel italy italien jamaica jamaika japan jordanien
kazakhstan kasachstan kenya kenia korea kosovo kuwait laos latvia lettland lebanon libanon libya
libyen lithuania litauen luxembourg luxemburg madagascar madagaskar malaysia mali malta mexico
mexiko moldova moldau mongolia mongolei montenegro morocco marokko mozambique mosambik myanmar
namibia nepal netherlands niederlande nicaragua nigeria norway norwegen pakistan palestine
palästina panama paraguay philippines philippinen poland polen portugal qatar katar romania
rumänien russia russland rwanda ruanda schottland scotland senegal serbia serbien singapore singapur
slovakia slowakei slovenia slowenien somalia spain spanien sudan sweden schweden switzerland schweiz
syria syrien taiwan tanzania tansania thailand tunisia tunesien türkei uganda ukraine uruguay
uzbekistan usbekistan venezuela vietnam wales yemen jemen zambia sambia zimbabwe simbabwe europe
europa africa afrika asia asien antarctica antarktis bavaria bayern saxony sachsen hessen
brandenburg thüringen california kalifornien texas florida ohio michigan oregon
"""
_CITIES = """
oslo berlin hamburg munich münchen cologne köln frankfurt stuttgart düsseldorf leipzig dresden
dortmund hannover hanover nuremberg nürnberg bremen bonn münster freiburg heidelberg potsdam
augsburg karlsruhe mannheim wiesbaden rostock vienna wien graz salzburg innsbruck zürich zurich
geneva genf basel bern lausanne london manchester liverpool birmingham edinburgh glasgow dublin
paris lyon marseille toulouse bordeaux brussels brüssel antwerp antwerpen amsterdam rotterdam
madrid barcelona seville sevilla valencia lisbon lissabon rome milan mailand florence
florenz venice venedig naples neapel turin athens athen istanbul ankara moscow moskau kyiv kiew
warsaw warschau krakow krakau prague prag budapest bucharest bukarest sofia belgrade belgrad zagreb
ljubljana bratislava vilnius riga tallinn helsinki stockholm gothenburg göteborg copenhagen
kopenhagen bergen trondheim reykjavik cairo kairo lagos nairobi johannesburg casablanca tunis
jerusalem beirut dubai tehran teheran baghdad bagdad karachi delhi mumbai bangalore kolkata dhaka
bangkok hanoi jakarta manila beijing peking shanghai shenzhen seoul tokyo tokio osaka kyoto sydney
melbourne brisbane auckland toronto montreal vancouver ottawa chicago boston seattle houston dallas
austin denver philadelphia atlanta miami detroit portland havana havanna bogota lima
santiago brooklyn manhattan
"""
_ORGANISATIONS = """
google microsoft facebook netflix nvidia intel ibm samsung sony nokia ericsson siemens bosch sap bmw
volkswagen audi porsche mercedes daimler lufthansa airbus boeing tesla spacex openai anthropic
deepmind spotify paypal ebay airbnb uber lyft ikea lego adidas nestle nestlé unilever bayer basf
pfizer novartis roche toyota honda nissan hyundai huawei xiaomi alibaba tencent nasa esa cern unesco
unicef nato interpol greenpeace wikipedia mozilla adobe cisco dell lenovo hitachi toshiba panasonic
walmart costco starbucks mcdonald's aldi lidl edeka rewe allianz zalando telekom vodafone
bundesbank bundestag bundesliga
"""
_PRODUCTS = """
python javascript typescript postgresql postgres mysql sqlite mongodb redis kubernetes linux ubuntu
debian fedora android ios macos iphone ipad macbook github gitlab bitbucket jira photoshop gmail
youtube whatsapp instagram twitter linkedin reddit tiktok chatgpt kotlin golang haskell
numpy pytorch tensorflow django fastapi nginx terraform ansible jenkins grafana kafka
elasticsearch firefox chromium playstation xbox nintendo minecraft vscode
pycharm intellij emacs vim tailwind webpack numba scipy
"""
_PEOPLE = """
alice anna anne annika andreas andrew anthony antonia barbara benjamin bernd birgit brigitte carla
carlos caroline catherine charlotte christian christina christine christoph claudia daniel daniela
david deborah dennis diana dieter dirk dominik dorothy edward elena elisabeth elizabeth emily emma
eric erik eva fatima felix florian franziska fritz gabriele georg george gerhard gisela greta
gustav hannah hans heike heinrich heinz helen helena helga helmut henry holger ingrid isabel
isabella jakob james jana jane jason jennifer jens jessica joachim johanna johannes john
jonas jonathan joseph joshua julia julian juliane jürgen karin karl katharina katja katrin kevin
klaus kristin lars laura lea lena leon leonie lisa lucas luisa lukas lutz manfred manuel marco
marcus margaret maria marie marion marko markus marlene martin martina mary matthew matthias
mehmet melanie michael michelle miriam mohammed monika moritz nadine natalie nathan nicholas nicole
niklas nina nora oliver olga otto patricia patrick paul paula peter petra philip philipp rachel
rainer ralf rebecca renate richard robert roland samantha samuel sandra sarah sebastian silke simone
sofie sophia sophie stefan stefanie stephan stephanie stephen steven susan susanne sven sylvia
tanja theresa thomas thorsten tobias torsten ulrich ulrike ursula uwe vanessa veronika victoria
viktor walter werner wilhelm william wolfgang yusuf
"""
_CAPITALISED = """
Apple Amazon Oracle Windows Excel Chrome Safari Java Swift Rust Ruby Docker Slack Zoom Notion
Alexa Siri Cortana Meta Visa Ford Puma Stripe Claude Prometheus LaTeX Jordan Chad Georgia Turkey
Peru Porto Phoenix Rom Cork Bonn Kiel Ulm Jan Max Tom Tim Ben Bob Jim Joe Kim
Lee Leo Mia Lia Ian Kai Finn Noah Adam Alex Chris Sam Dan Jack Mike Nick Steve Jeff Greg Eve Ella
Clara Lily Lucy Molly Kate Amy Ali Omar Ahmed Timo Ute Ines Inga Mohamed Sara Tina Vera Ida
Frank Mandy Sandy Karen Linda Mona Nadia Simon Jochen Washington Lincoln Victor Adrian
"""
_NAME_PHRASES = (
    "new york",
    "new zealand",
    "neuseeland",
    "los angeles",
    "las vegas",
    "san francisco",
    "san diego",
    "hong kong",
    "south africa",
    "südafrika",
    "saudi arabia",
    "saudi-arabien",
    "sri lanka",
    "costa rica",
    "puerto rico",
    "united states",
    "united kingdom",
    "vereinigte staaten",
    "tel aviv",
    "rio de janeiro",
    "buenos aires",
    "cape town",
    "st. petersburg",
    "den haag",
    "the hague",
    "deutsche bank",
    "deutsche bahn",
    "stack overflow",
    "visual studio",
    "raspberry pi",
)

LOWERCASE_NAMES = word_set(f"{_COUNTRIES} {_CITIES} {_ORGANISATIONS} {_PRODUCTS} {_PEOPLE}")
"""Lower-case names, which count in any case."""

CAPITALISED_NAMES = word_set(_CAPITALISED)
"""Names that count only as written here."""

NAME_PHRASES = re.compile(
    rf"(?<!\w)(?:{'|'.join(map(re.escape, _NAME_PHRASES))})(?!\w)", re.IGNORECASE
)
"""Names of several words, in any case."""
