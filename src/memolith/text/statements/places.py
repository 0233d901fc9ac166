"""Gazetteer of cities, regions and countries, with their containment.

From general knowledge: a guess at the most frequent places. Nothing is concluded about unlisted
places: after a move from Berlin to Kreuzberg, a person still lives in Berlin. Suburbs and boroughs
are deliberately left out, since people use the city's name instead. A name of both a region and a
city is listed as both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from memolith.text.lexicon.language import word_set

# One region per line, with indented continuation lines: a region, or region < country, then its
# cities. Slashes separate alternative spellings.
_PLACE_LIST = """
Norway: Oslo, Bergen, Trondheim, Stavanger, Tromsø/Tromso, Kristiansand, Drammen, Bodø/Bodo,
  Ålesund/Alesund, Lillehammer, Hamar, Molde, Narvik, Fredrikstad, Sandnes
Sweden/Schweden: Stockholm, Gothenburg/Göteborg, Malmö/Malmo, Uppsala, Lund, Linköping, Västerås,
  Örebro, Umeå, Helsingborg, Jönköping, Kiruna, Norrköping
Denmark/Dänemark: Copenhagen/Kopenhagen/København, Aarhus/Århus, Odense, Aalborg, Esbjerg, Roskilde
Finland/Finnland: Helsinki, Tampere, Turku, Oulu, Rovaniemi, Jyväskylä, Lahti, Kuopio
Iceland/Island: Reykjavik/Reykjavík, Akureyri
Germany/Deutschland: Berlin, Hamburg, Bremen
Bavaria/Bayern < Germany: Munich/München, Nuremberg/Nürnberg, Augsburg, Regensburg, Würzburg,
  Ingolstadt, Bamberg, Bayreuth, Erlangen, Passau
Baden-Württemberg < Germany: Stuttgart, Heidelberg, Karlsruhe, Mannheim, Freiburg, Ulm, Tübingen,
  Konstanz, Heilbronn
Hesse/Hessen < Germany: Frankfurt/Frankfurt am Main, Wiesbaden, Kassel, Darmstadt, Marburg, Fulda,
  Giessen/Gießen
Saxony/Sachsen < Germany: Dresden, Leipzig, Chemnitz
North Rhine-Westphalia/Nordrhein-Westfalen/NRW < Germany: Cologne/Köln, Bonn, Düsseldorf/Dusseldorf,
  Dortmund, Essen, Duisburg, Bochum, Münster, Aachen, Bielefeld, Wuppertal, Paderborn, Krefeld
Lower Saxony/Niedersachsen < Germany: Hanover/Hannover, Göttingen, Braunschweig, Oldenburg,
  Osnabrück, Hildesheim, Wolfsburg
Schleswig-Holstein < Germany: Kiel, Lübeck, Flensburg
Thuringia/Thüringen < Germany: Jena, Weimar, Erfurt
Brandenburg < Germany: Potsdam, Cottbus
Mecklenburg-Vorpommern < Germany: Rostock, Schwerin, Greifswald
Saxony-Anhalt/Sachsen-Anhalt < Germany: Magdeburg, Halle
Rhineland-Palatinate/Rheinland-Pfalz < Germany: Mainz, Trier, Koblenz, Kaiserslautern
Saarland < Germany: Saarbrücken
Austria/Österreich: Vienna/Wien, Graz, Linz, Salzburg, Innsbruck, Klagenfurt, Villach, Bregenz
Tyrol/Tirol < Austria: Innsbruck
Styria/Steiermark < Austria: Graz
Switzerland/Schweiz/die Schweiz: Zurich/Zürich, Bern/Berne, Basel, Geneva/Genf/Genève, Lausanne,
  Lucerne/Luzern, Lugano, Chur
Zurich/Zürich < Switzerland: Winterthur
Liechtenstein: Vaduz
Netherlands/Niederlande/Holland: Amsterdam, Rotterdam, Utrecht, Eindhoven, Groningen, Maastricht,
  Leiden, Delft, Haarlem, The Hague/Den Haag, Nijmegen, Tilburg, Breda, Arnhem
Belgium/Belgien: Brussels/Brüssel, Antwerp/Antwerpen, Ghent/Gent, Bruges/Brügge, Leuven, Liège,
  Namur
Luxembourg/Luxemburg: Esch
France/Frankreich: Paris, Lyon/Lyons, Marseille, Toulouse, Nice/Nizza, Nantes, Bordeaux, Lille,
  Strasbourg/Straßburg, Montpellier, Rennes, Grenoble, Dijon, Reims, Tours, Cannes, Brest
Spain/Spanien: Madrid, Barcelona, Valencia, Seville/Sevilla, Málaga/Malaga, Granada, Bilbao,
  Zaragoza, Salamanca, Alicante, Cádiz, Córdoba, Murcia, San Sebastián/San Sebastian
Catalonia/Katalonien < Spain: Barcelona, Girona, Tarragona
Andalusia/Andalusien < Spain: Seville/Sevilla, Málaga/Malaga, Granada, Cádiz, Córdoba
Portugal: Lisbon/Lissabon/Lisboa, Porto, Coimbra, Faro, Braga, Évora, Funchal
Italy/Italien: Rome/Rom, Milan/Mailand, Naples/Neapel, Turin, Venice/Venedig, Bologna, Palermo,
  Genoa/Genua, Verona, Bari, Catania, Trieste, Padua, Cagliari
Tuscany/Toskana < Italy: Florence/Florenz, Pisa, Siena, Lucca, Livorno, Arezzo
Sicily/Sizilien < Italy: Palermo, Catania, Syracuse
Greece/Griechenland: Athens/Athen, Thessaloniki, Patras, Heraklion
Crete/Kreta < Greece: Heraklion, Chania
Malta: Valletta
Cyprus/Zypern: Nicosia, Limassol
Turkey/Türkei: Istanbul, Ankara, Izmir, Antalya, Bursa
Poland/Polen: Warsaw/Warschau, Krakow/Kraków/Krakau/Cracow, Gdańsk/Gdansk/Danzig, Wrocław/Wroclaw,
  Poznań/Poznan, Łódź, Lublin, Katowice, Szczecin
Czechia/Czech Republic/Tschechien: Prague/Prag, Brno/Brünn, Ostrava, Olomouc, Plzeň
Slovakia/Slowakei: Bratislava, Košice
Hungary/Ungarn: Budapest, Debrecen, Szeged, Pécs
Romania/Rumänien: Bucharest/Bukarest, Cluj, Timișoara, Brașov, Iași
Bulgaria/Bulgarien: Sofia, Plovdiv, Varna
Serbia/Serbien: Belgrade/Belgrad, Novi Sad
Croatia/Kroatien: Zagreb, Split, Dubrovnik, Rijeka, Zadar
Slovenia/Slowenien: Ljubljana, Maribor
Bosnia/Bosnien: Sarajevo, Mostar
Albania/Albanien: Tirana
North Macedonia: Skopje
Montenegro: Podgorica
Kosovo: Pristina
Estonia/Estland: Tallinn, Tartu
Latvia/Lettland: Riga
Lithuania/Litauen: Vilnius, Kaunas
Ukraine: Kyiv/Kiev/Kiew, Lviv, Odesa/Odessa, Kharkiv, Dnipro
Belarus: Minsk
Moldova: Chișinău
Russia/Russland: Moscow/Moskau, Saint Petersburg/St. Petersburg/St Petersburg, Novosibirsk, Kazan,
  Vladivostok
Georgia/Georgien: Tbilisi, Batumi
Armenia/Armenien: Yerevan
Azerbaijan: Baku
Ireland/Irland: Dublin, Cork, Galway, Limerick, Waterford, Kilkenny, Sligo
England < UK: London, Manchester, Birmingham, Liverpool, Leeds, Sheffield, Bristol, Newcastle,
  Nottingham, Leicester, Brighton, Southampton, Portsmouth, Plymouth, Exeter, Bath, Norwich, York,
  Oxford, Cambridge, Reading, Coventry, Hull, Derby, Durham, Canterbury, Lancaster, Sunderland,
  Milton Keynes, Preston, Truro, Chester
Yorkshire < England < UK: Leeds, Sheffield, York, Hull, Bradford
Cornwall < England < UK: Truro, Falmouth, Penzance
Devon < England < UK: Exeter, Plymouth, Torquay
Kent < England < UK: Canterbury, Dover, Maidstone, Ashford
Scotland/Schottland < UK: Edinburgh, Glasgow, Aberdeen, Dundee, Inverness, St Andrews, Stirling,
  Perth
Wales < UK: Cardiff, Swansea, Newport, Bangor, Aberystwyth
Northern Ireland < UK: Belfast, Derry
UK/United Kingdom/Britain/Great Britain/Großbritannien: London
USA/US/United States/United States of America/America/Amerika: Washington/Washington DC/Washington
  D.C.
New York/NY/New York State < USA: New York/New York City/NYC, Buffalo, Rochester, Syracuse, Albany,
  Ithaca
California/Kalifornien < USA: Los Angeles/LA, San Francisco/SF, San Diego, San Jose, Sacramento,
  Fresno, Santa Barbara, Palo Alto, Santa Cruz
Washington/Washington State < USA: Seattle, Spokane, Tacoma
Oregon < USA: Portland, Eugene, Salem, Bend
Massachusetts < USA: Boston, Worcester, Springfield, Cambridge, Salem
Illinois < USA: Chicago, Springfield, Peoria
Texas < USA: Houston, Austin, Dallas, San Antonio, El Paso, Fort Worth, Lubbock
Florida < USA: Miami, Orlando, Tampa, Jacksonville, Tallahassee, Gainesville
Colorado < USA: Denver, Boulder, Colorado Springs
Arizona < USA: Phoenix, Tucson, Flagstaff
Nevada < USA: Las Vegas, Reno
Utah < USA: Salt Lake City, Provo
New Mexico < USA: Albuquerque, Santa Fe
Georgia < USA: Atlanta, Savannah, Athens
North Carolina < USA: Charlotte, Raleigh, Durham, Asheville, Greensboro
South Carolina < USA: Charleston, Columbia, Greenville
Virginia < USA: Richmond, Norfolk, Charlottesville
Maryland < USA: Baltimore, Annapolis
Pennsylvania < USA: Philadelphia, Pittsburgh, Harrisburg
Ohio < USA: Columbus, Cleveland, Cincinnati, Toledo, Dayton
Michigan < USA: Detroit, Ann Arbor, Grand Rapids, Lansing
Minnesota < USA: Minneapolis, Duluth
Wisconsin < USA: Milwaukee, Madison, Green Bay
Missouri < USA: St. Louis/St Louis, Springfield, Columbia
Tennessee < USA: Nashville, Memphis, Knoxville, Chattanooga
Louisiana < USA: New Orleans, Baton Rouge
Indiana < USA: Indianapolis, Bloomington
Kentucky < USA: Louisville, Lexington
Alabama < USA: Birmingham, Montgomery, Mobile
Nebraska < USA: Omaha, Lincoln
Idaho < USA: Boise
Montana < USA: Billings, Missoula, Bozeman
Maine < USA: Portland, Bangor
Vermont < USA: Burlington
Connecticut < USA: Hartford, New Haven
Rhode Island < USA: Providence
Hawaii < USA: Honolulu
Alaska < USA: Anchorage, Juneau, Fairbanks
Kansas < USA: Wichita, Kansas City
Missouri < USA: Kansas City
Oklahoma < USA: Tulsa, Oklahoma City
Iowa < USA: Des Moines
Canada/Kanada: Ottawa
Ontario < Canada: Toronto, Ottawa, Hamilton, London, Kingston, Waterloo
Quebec/Québec < Canada: Montreal/Montréal, Quebec City
British Columbia < Canada: Vancouver, Victoria, Kelowna
Alberta < Canada: Calgary, Edmonton
Manitoba < Canada: Winnipeg
Nova Scotia < Canada: Halifax
Saskatchewan < Canada: Regina, Saskatoon
Mexico/Mexiko: Mexico City, Guadalajara, Monterrey, Cancún/Cancun, Puebla, Tijuana, Oaxaca, Mérida
Brazil/Brasilien: São Paulo/Sao Paulo, Rio de Janeiro/Rio, Brasília, Salvador, Curitiba, Recife,
  Porto Alegre
Argentina/Argentinien: Buenos Aires, Córdoba, Rosario, Mendoza
Chile: Santiago, Valparaíso
Colombia/Kolumbien: Bogotá/Bogota, Medellín/Medellin, Cali, Cartagena
Peru: Lima, Cusco, Arequipa
Ecuador: Quito, Guayaquil
Uruguay: Montevideo
Bolivia: La Paz
Venezuela: Caracas
Costa Rica: San José
Cuba/Kuba: Havana
Jamaica: Kingston
Dominican Republic: Santo Domingo
Japan: Tokyo/Tokio, Osaka, Kyoto, Yokohama, Sapporo, Nagoya, Fukuoka, Hiroshima, Kobe, Nara, Sendai
South Korea/Südkorea: Seoul, Busan, Incheon, Daegu
China: Beijing/Peking, Shanghai, Guangzhou, Shenzhen, Chengdu, Wuhan, Hangzhou, Nanjing, Hong Kong
Taiwan: Taipei, Kaohsiung
Vietnam: Hanoi, Ho Chi Minh City/Saigon, Da Nang
Thailand: Bangkok, Chiang Mai, Phuket
Malaysia: Kuala Lumpur, Penang
Indonesia/Indonesien: Jakarta, Bandung, Surabaya
Philippines: Manila, Cebu
Cambodia: Phnom Penh
India/Indien: Mumbai/Bombay, Delhi/New Delhi, Bangalore/Bengaluru, Chennai/Madras, Kolkata/Calcutta,
  Hyderabad, Pune, Ahmedabad, Jaipur, Kochi
Pakistan: Karachi, Lahore, Islamabad
Bangladesh: Dhaka
Sri Lanka: Colombo
Nepal: Kathmandu
Iran: Tehran, Isfahan, Shiraz
Iraq: Baghdad, Basra
Israel: Tel Aviv, Jerusalem, Haifa
Lebanon: Beirut
Jordan: Amman
Saudi Arabia: Riyadh, Jeddah
UAE/United Arab Emirates: Dubai, Abu Dhabi
Qatar: Doha
Egypt/Ägypten: Cairo/Kairo, Alexandria
Morocco/Marokko: Casablanca, Marrakesh/Marrakech, Rabat, Fez
Tunisia: Tunis
Algeria: Algiers
Nigeria: Lagos, Abuja, Ibadan
Ghana: Accra, Kumasi
Kenya/Kenia: Nairobi, Mombasa
Ethiopia: Addis Ababa
Tanzania: Dar es Salaam
Uganda: Kampala
Rwanda: Kigali
Senegal: Dakar
South Africa/Südafrika: Cape Town/Kapstadt, Johannesburg, Durban, Pretoria
Zimbabwe: Harare
Namibia: Windhoek
Australia/Australien: Sydney, Melbourne, Brisbane, Perth, Adelaide, Canberra, Hobart, Darwin,
  Newcastle
New Zealand/Neuseeland: Auckland, Wellington, Christchurch, Dunedin, Hamilton, Queenstown
"""

_STATES_OF_THEIR_OWN = "Singapore/Singapur, Monaco"


def find_place(name: str) -> frozenset[str] | None:
    """Return the possible places of a name, for `is_disjoint`; None if it is not listed.

    The name may be shared by several places ("Portland"), which are combined.
    """
    return _load_places().get(name.casefold().removeprefix("the "))


def is_disjoint(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether neither place can be, or be inside, the other.

    Args:
        one: As returned by `find_place`: canonical names of the place itself, marked by a full
            stop, and of all places that may contain it.
        other: The same for the other place.
    """
    return not (
        _get_own_names(one) & _strip_own_marks(other)
        or _get_own_names(other) & _strip_own_marks(one)
    )


def is_same_place(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two names mean the same place."""
    return _get_own_names(one) == _get_own_names(other)


def is_same_level(one: str, other: str) -> bool:
    """Return whether both names are cities, or both countries, and no likely names of districts.

    Many places share names: "Paris" may be in Texas, "Richmond" in London.
    """
    names = {name.casefold().removeprefix("the ") for name in (one, other)}
    return names.isdisjoint(_AMBIGUOUS_CITIES) and any(
        names <= level for level in (_load_cities(), _load_countries())
    )


_AMBIGUOUS_CITIES = word_set(
    """
    richmond kingston brighton victoria venice naples hollywood liverpool newcastle windsor
    lancaster cleveland norfolk sunderland florence hamilton kensington mülheim potsdam
    """
)
"""City names that districts of other cities share. A guess at the most frequent ones."""


@lru_cache(maxsize=1)
def _load_cities() -> frozenset[str]:
    lines = _PLACE_LIST.strip().replace("\n  ", " ").splitlines()
    cities = (*(line.partition(": ")[2] for line in lines), _STATES_OF_THEIR_OWN)
    return frozenset(
        name for line in cities for city in line.split(", ") for name in _parse_names(city)
    )


@lru_cache(maxsize=1)
def _load_countries() -> frozenset[str]:
    return frozenset(
        name
        for name, containing in _load_places().items()
        if _get_own_names(containing) == _strip_own_marks(containing)
    )


def _get_own_names(place: frozenset[str]) -> frozenset[str]:
    return frozenset(name[:-1] for name in place if name.endswith("."))


def _strip_own_marks(place: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removesuffix(".") for name in place)


@lru_cache(maxsize=1)
def _load_places() -> Mapping[str, frozenset[str]]:
    containing_places: dict[str, set[str]] = {}
    for line in _PLACE_LIST.strip().replace("\n  ", " ").splitlines():
        region, _, cities = line.partition(": ")
        chain = [_parse_names(each) for each in region.split(" < ")]
        for at, names in enumerate(chain):
            _add_place(containing_places, names, chain[at + 1 :])
        for city in cities.split(", "):
            _add_place(containing_places, _parse_names(city), chain)
    for city in _STATES_OF_THEIR_OWN.split(", "):
        _add_place(containing_places, _parse_names(city), [])
    return MappingProxyType(
        {name: frozenset(containing) for name, containing in containing_places.items()}
    )


def _add_place(
    containing_places: dict[str, set[str]], names: list[str], around: list[list[str]]
) -> None:
    containing = {f"{names[0]}.", *(region[0] for region in around)}
    for name in names:
        containing_places.setdefault(name, set()).update(containing)


def _parse_names(text: str) -> list[str]:
    return [name.strip().casefold().removeprefix("the ") for name in text.split("/")]
