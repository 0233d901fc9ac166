"""English grammar of statements: the sentences of each attribute (see `grammar.Attribute`)."""

from __future__ import annotations

from types import MappingProxyType

from memolith.text.lexicon.language import word_set
from memolith.text.statements.grammar import Attribute, Grammar, Mark

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w.-]*"
_NAME = rf"{_CAPITAL}(?: {_CAPITAL}){{0,2}}"
_AGE = "(?:(?:older|younger|elder|eldest|oldest|youngest|big|little|baby|twin|best) )?"
_ONLY = "wife|husband|spouse|fiancée?|fiancee?"
_HIRED = (
    "boss|manager|line manager|supervisor|team lead|landlord|landlady|dentist|GP|boyfriend"
    "|girlfriend|doctor|therapist|lawyer|accountant|hairdresser|coach|trainer|mentor|tutor|assistant|partner"
    "|roommate|flatmate|housemate"
)
_KIN = "mother|father|mum|mom|dad"
SEVERAL = (
    "sister|brother|son|daughter|child|kid|friend|cousin|aunt|uncle|niece|nephew|colleague"
    "|coworker|neighbou?r|grandmother|grandfather|grandma|grandpa|granny|dog|cat|horse"
    "|sister-in-law|brother-in-law|stepson|stepdaughter|godson|goddaughter"
)
"""Relations that a person may have several of."""
IN_TURN = "|".join((*_HIRED.replace("line manager|team lead|", "").split("|"), "lead"))
"""Relations that a person may have several of, or that may change: the last words of `_HIRED`."""

_RELATION = f"{_AGE}(?:{_ONLY}|{_HIRED}|{_KIN}|{SEVERAL})"
_NO_NOUN = (
    "is|was|are|has|had|got|moved|opens|leaves|departs|will|with|to|at|on|in|starts|ends|takes"
)
_NOUN = rf"(?!(?:{_NO_NOUN})\b)[\w'-]+"
_NOUNS = rf"{_NOUN}(?: {_NOUN}){{0,3}}"
_ABOUT = rf"(?: (?:with|to|at|for|of) (?:(?:the|my|our) )?{_NOUN}(?: {_NOUN})?)?"
_OWNER = rf"(?:the|our|my|{_NAME}'s|{_CAPITAL})"

SLOTS = MappingProxyType(
    {
        "S": f"(?P<s>I|we|[Tt]he user|User|my {_RELATION}|{_NAME})",
        "I": "(?P<s>I)",
        "P": f"(?P<s>my|our|[Tt]he user's|User's|my {_RELATION}'s|{_NAME}'s?)",
        "T": f"(?P<s>{_OWNER} {_NOUNS}{_ABOUT}|{_CAPITAL})",
        "family": "(?:family|wife|husband|girlfriend|boyfriend|partner|parents|kids|children)",
        "have": "(?:have |has )?",
        "not": "(?:,| and) not",
        "side": "side|second|weekend|part-time|student|child|teenager|kid|volunteer|joke",
        "named": rf"(?P<v>[\w'’+#-]+|(?:the )?{_CAPITAL}(?: (?:of|the|and|{_CAPITAL}))*)",
        "school": (
            f"(?P<v>(?:the )?(?:University of {_CAPITAL}"
            f"|{_NAME} (?:University|College|(?:Elementary|Middle|High|Primary)(?: School)?)))"
        ),
        "only": f"(?P<a>{_ONLY})",
        "hired": f"(?P<a>{_HIRED}|{_KIN})",
        "person": f"(?P<a>{_ONLY}|{_HIRED})",
        "contact": (
            "(?P<a>(?:phone|mobile|cell|telephone) number|number|e-?mail(?: address)?"
            "|(?:work|private|personal|office) (?:phone number|number|e-?mail(?: address)?)"
            "|handle|username|user name|extension)"
        ),
        "best": "(?P<a>(?:favorite|default) [a-z][a-z -]*?)",
        "liked": "(?P<a>(?:preferred|go-to) [a-z][a-z -]*?)",
        "body": "(?P<a>weight|height)",
        "paid": "(?P<a>rent|salary|shoe size|monthly rent|hourly rate)",
        "measured": "(?P<a>rent|salary|weight|height|shoe size|monthly rent|hourly rate)",
        "rose": "(?:gone up|went up|increased|rose|risen|dropped|went down|gone down|changed)",
        "moved": (
            "(?:(?:has been|has|got) (?:moved|rescheduled|postponed|shifted|changed|pushed"
            "|delayed|brought|extended)(?: back| forward)?|moved)"
        ),
    }
)

_HOME = Attribute(
    name="home",
    value="place",
    sentences=(
        "{S} (?:lives?|resides?) in {V}",
        "{P} place of residence is {V}",
    ),
    weak_sentences=(
        "{S} (?:am|is) living in {V}",
        "{P} home is in {V}",  # perhaps the place of origin
        "{P} home city is {V}",
        "{S} ha(?:ve|s) lived in {V} (?P<more>(?:since|for) .+)",
        "{S} lives? in {V} (?P<more>with my {family})",
    ),
    change_sentences=(
        "{S} {have}(?:moved|relocated) to {V}",
        "{S} {have}(?:moved|relocated) from {W} to {V}",
        "{S} {have}(?:moved|relocated) to {V} from {W}",
        "{S} lives? in {V}{not} (?:in )?{W}",
        "{S} lives? in {V} instead of (?:in )?{W}",
    ),
    anchors=word_set("live lives lived living reside resides home residence moved relocated"),
)
_BASE = Attribute(
    name="base",
    value="place",
    sentences=("{S} (?:am|is) based in {V}",),
    anchors=word_set("based"),
)
_EMPLOYER = Attribute(
    name="employer",
    value="organisation",
    sentences=(
        "{S} works? (?P<how>at|for) {V}",
        "{S} (?:am|is) employed (?P<how>at|by) {V}",
        "{P} employer is {V}",
    ),
    weak_sentences=(
        "{S} (?:am|is) working (?P<how>at|for) {V}",
        "{S} works? (?P<how>at|for) {V} (?P<more>as an? (?!{side})[\\w-]+(?: [\\w-]+)?)",
    ),
    change_sentences=(
        "{S} {have}started working (?:at|for) {V}",
        "{S} {have}(?:started|got) a new job (?:at|with) {V}",
        "{S} ha(?:ve|s) a new job (?:at|with) {V}",
        "{P} new employer is {V}",
        "{S} {have}(?:switched|changed|moved)(?: jobs)? from {W} to {V}",
        "{S} {have}left {W} for {V}",
        "{S} works? (?:at|for) {V}{not} (?:(?:at|for) )?{W}",
        "{S} works? (?:at|for) {V} instead of (?:(?:at|for) )?{W}",
    ),
    # Many people have a second job.
    is_exclusive=False,
    anchors=word_set("works work working employed employer started job switched left"),
)
_OCCUPATION = Attribute(
    name="occupation",
    value="occupation",
    sentences=(
        "{S} works? as (?:an? )?{V}",
        "{P} (?:job|job title|profession|occupation) is (?:an? )?{V}",
    ),
    weak_sentences=("{S} (?:am|is) an? {V}", "{S} (?:am|is) working as an? {V}"),
    change_sentences=(
        "{S} {have}(?:became|become) an? {V}",
        "{S} (?:ha(?:ve|s) been|got) promoted to {V}",
        "{S} {have}got a (?:new )?job as an? {V}",
        "{S} {have}started working as an? {V}",
        "{S} {have}(?:switched|changed|moved) from (?:being an? )?{W} to (?:being an? )?{V}",
        "{P} new (?:job|job title|profession|occupation) is (?:an? )?{V}",
        "{S} works? as an? {V}{not} (?:as )?an? {W}",
        "{S} works? as an? {V} instead of an? {W}",
    ),
    # A nurse may also be a bartender.
    is_exclusive=False,
)
_WORKPLACE = Attribute(
    name="workplace",
    value="place",
    sentences=("{S} works? in {V}",),
    is_exclusive=False,
    anchors=word_set("work works"),
)
_UNIVERSITY = Attribute(
    name="university",
    value="school",
    sentences=("{S} stud(?:y|ies) at {V}", "{S} go(?:es)? to {school}"),
    change_sentences=("{S} {have}(?:transferred|switched|changed) from {W} to {V}",),
    is_exclusive=False,
    anchors=word_set("study studies go goes transferred switched changed"),
)
_MAJOR = Attribute(
    name="major",
    value="best",
    sentences=("{P} major is {V}",),
    change_sentences=(
        "{I} {have}(?:changed|switched) my major to {V}",
        "{I} {have}(?:changed|switched) my major from {W} to {V}",
    ),
    # Double majors exist.
    is_exclusive=False,
    anchors=word_set("major"),
)
_AGES = Attribute(
    name="age",
    value="age",
    sentences=("{S} (?:am|is) {V}", "{S} (?:am|is) {V} years old", "{P} age is {V}"),
    change_sentences=("{S} {have}turned {V}",),
)
_BIRTHDAY = Attribute(
    name="birthday",
    value="date",
    sentences=("{P} birthday is (?:on )?{V}", "{S} born on {V}", "{P} date of birth is {V}"),
    change_sentences=("{P} birthday is (?:on )?{V}{not} (?:on )?{W}",),
    anchors=word_set("birthday born birth"),
)
_NAME_ATTRIBUTES = (
    Attribute(
        name="name",
        value="full name",
        sentences=("{P} (?:full )?name is {V}", "{S} (?:am|is) (?:called|named) {V}"),
        weak_sentences=("{I} am {V}",),
        change_sentences=(
            "{I} {have}changed my name to {V}",
            "{I} {have}changed my name from {W} to {V}",
            "{P} name has changed to {V}",
            "{P} new name is {V}",
        ),
        anchors=word_set("name called named"),
    ),
    Attribute(
        name="last name",
        value="person",
        sentences=("{P} (?:last name|surname|family name) is {V}",),
        change_sentences=(
            "{I} {have}changed my (?:last name|surname|family name) to {V}",
            "{P} new (?:last name|surname|family name) is {V}",
        ),
        anchors=word_set("name surname"),
    ),
    Attribute(
        name="nickname",
        value="nickname",
        sentences=(
            "(?P<s>)call me {V}",
            "{P} nickname is {V}",
            "(?:people|friends|everyone|everybody|my friends) call (?P<s>me) {V}",
            "{S} go(?:es)? by {V}",
        ),
        # Friends and colleagues may use different nicknames.
        is_exclusive=False,
        anchors=word_set("call nickname go goes"),
    ),
)
_PERSON_ATTRIBUTES = (
    Attribute(
        name="relation",
        value="person",
        sentences=(
            "{P} {only} is {V}",
            "{P} {only}'s name is {V}",
            "{P} {only} is (?:called|named) {V}",
            "{V} is {P} {only}",
        ),
        change_sentences=(
            "{P} new {person} is {V}",
            "{P} new {person}'s name is {V}",
            "{P} new {person} is (?:called|named) {V}",
            "{V} is {P} new {person}",
            "{P} {person} is {V}{not} {W}",
        ),
    ),
    Attribute(
        name="relation",
        value="person",
        sentences=(
            "{P} {hired} is {V}",
            "{P} {hired}'s name is {V}",
            "{P} {hired} is (?:called|named) {V}",
            "{V} is {P} {hired}",
        ),
        # A person may have two bosses, or several doctors.
        is_exclusive=False,
    ),
    Attribute(
        name="married to",
        value="person",
        sentences=("{S} (?:am|is) (?P<a>married|engaged) to {V}",),
    ),
    Attribute(
        name="marriage",
        value="marriage",
        sentences=("{S} (?:am|is) {V}",),
        change_sentences=("{S} {have}got {V}",),
        anchors=word_set("married single engaged divorced widowed relationship"),
    ),
    Attribute(
        name="company",
        value="company",
        sentences=("{S} lives? {V}",),
        anchors=word_set("live lives"),
    ),
)
_CONTACT_ATTRIBUTES = (
    Attribute(
        name="contact",
        value="contact",
        sentences=("{P} {contact} is (?:at )?{V}",),
        change_sentences=(
            "{P} new {contact} is {V}",
            "{P} {contact} (?:has )?changed to {V}",
            "{P} {contact} (?:has )?changed from {W} to {V}",
            "{P} {contact} is {V}{not} {W}",
        ),
        # Many people have several numbers and addresses.
        is_exclusive=False,
        anchors=word_set("email mail number phone mobile cell handle username extension"),
    ),
    Attribute(
        name="address",
        value="address",
        sentences=("{P} home address is {V}", "{S} lives? at {V}"),
        weak_sentences=("{P} address is {V}",),  # perhaps a postal address
        change_sentences=(
            "{P} new (?:home )?address is {V}",
            "{P} (?:home )?address (?:has )?changed to {V}",
            "{S} {have}moved to {V}",
        ),
        anchors=word_set("address live lives moved"),
    ),
)
_FAVOURITE_ATTRIBUTES = (
    Attribute(
        name="best",
        value="best",
        sentences=("{P} {best} is {V}", "{named} is {P} {best}"),
        change_sentences=(
            "{P} new {best} is {V}",
            "{named} is {P} new {best}",
            "{P} {best} (?:has )?changed (?:from {W} )?to {V}",
            "{P} {best} is {V}{not} {W}",
        ),
        anchors=word_set("favorite favourite default"),
    ),
    Attribute(
        name="best",
        value="best",
        sentences=("{P} {liked} is {V}", "{named} is {P} {liked}"),
        change_sentences=(
            "{P} new {liked} is {V}",
            "{named} is {P} new {liked}",
            "{P} {liked} (?:has )?changed (?:from {W} )?to {V}",
            "{P} {liked} is {V}{not} {W}",
        ),
        # Not a superlative: two may be preferred.
        is_exclusive=False,
        anchors=word_set("preferred go-to"),
    ),
    Attribute(
        name="preference",
        value="choice",
        sentences=("{S} prefers? {V}",),
        is_exclusive=False,
        anchors=word_set("prefer prefers"),
    ),
    Attribute(
        name="use",
        value="thing",
        sentences=("{S} (?:uses?|drinks?|plays?|takes?|eats?|smokes?|stud(?:y|ies)) (?:the )?{V}",),
        change_sentences=(
            "{S} {have}(?:switched|changed|moved|gone|went) from (?:the )?{W} to (?:the )?{V}",
        ),
        # "I use Slack now" does not imply that Notion is no longer used.
        is_multiple=True,
        anchors=word_set(
            """
            use uses drink drinks play plays take takes eat eats smoke smokes study studies
            switched changed moved went gone
            """
        ),
    ),
    Attribute(
        name="diet",
        value="diet",
        sentences=("{S} (?:am|is) (?:an? )?{V}",),
        change_sentences=(
            "{S} {have}(?:became|become|turned|gone|went) (?:an? )?{V}",
            "{S} {have}(?:switched|changed|went|gone) from (?:being )?{W} to (?:being )?{V}",
        ),
        anchors=word_set("vegetarian vegan pescatarian omnivore eater"),
    ),
)
_POSSESSION_ATTRIBUTES = (
    Attribute(
        name="tool",
        value="thing",
        sentences=("{P} (?P<a>editor|browser|bank|gym|phone|laptop|operating system) is {V}",),
        change_sentences=("{P} new (?P<a>editor|browser|bank|gym|phone|laptop) is (?:an? )?{V}",),
        is_exclusive=False,
    ),
    Attribute(
        name="car",
        value="make",
        sentences=("{P} car is an? {V}",),
        weak_sentences=("{S} drives? an? {V}",),
        change_sentences=(
            "{I} {have}(?:traded|swapped|exchanged) my {W} for an? {V}",
            "{S} {have}(?:switched|changed) from an? {W} to an? {V}",
        ),
        # A household may have two cars.
        is_exclusive=False,
        anchors=word_set("car drive drives traded swapped exchanged"),
    ),
    Attribute(
        name="colour",
        value="color",
        sentences=("{P} (?P<a>car|bike|house|front door|hair) is {V}",),
        change_sentences=("{I} {have}(?:dyed|painted) my (?P<a>car|bike|house|hair) {V}",),
        is_exclusive=False,
    ),
    Attribute(
        name="pronouns",
        value="pronouns",
        sentences=("{P} pronouns are {V}",),
        change_sentences=("{P} new pronouns are {V}",),
        # Some people use two sets.
        is_exclusive=False,
        anchors=word_set("pronouns"),
    ),
    Attribute(
        name="measure",
        value="measure",
        sentences=("{P} {body} is {V}", "{S} (?P<a>weighs?) {V}"),
        change_sentences=(
            "{P} {measured} {have}{rose} (?:from {W} )?to {V}",
            "{P} new {measured} is {V}",
        ),
        anchors=word_set("weight weigh weighs height rent salary shoe rate"),
    ),
    Attribute(
        name="measure",
        value="measure",
        sentences=("{P} {paid} is {V}",),
        # May be monthly or yearly, before or after tax, shared, or in European or American sizes.
        is_exclusive=False,
        anchors=word_set("rent salary shoe rate"),
    ),
)
_COUNT_ATTRIBUTES = (
    Attribute(
        name="count",
        value="count",
        sentences=("{S} ha(?:ve|s) {V}",),
        is_exclusive=False,
    ),
    Attribute(
        name="dose",
        value="measure",
        sentences=(r"{S} takes? {V} of (?P<a>\w+)",),
        is_exclusive=False,
    ),
    Attribute(
        name="grade",
        value="thing",
        sentences=("{S} (?:am|is) in (?:the )?{V} grade",),
        is_exclusive=False,
        anchors=word_set("grade"),
    ),
    Attribute(
        name="shift",
        value="thing",
        sentences=("{S} (?:am|is) on the {V} shift",),
        is_exclusive=False,
        anchors=word_set("shift"),
    ),
)
_SCHEDULE_ATTRIBUTES = (
    Attribute(
        name="routine",
        value="when",
        sentences=(
            "{S} (?P<a>wakes?|gets?) up {V}",
            "{S} (?P<a>go(?:es)?) to bed {V}",
            "{S} (?P<a>starts?|finish(?:es)?) work {V}",
        ),
        change_sentences=("{S} (?P<a>wakes?|gets?) up {V} instead of {W}",),
        # May differ on weekends.
        is_exclusive=False,
    ),
    Attribute(
        name="schedule",
        value="when",
        is_about_thing=True,
        sentences=(
            "{T} is {V}",
            "{T} (?:takes place|is scheduled for|is set for|is due|is held) {V}",
        ),
        change_sentences=(
            "{T} {moved} (?:to|for|until) {V}",
            "{T} {moved} from {W} to {V}",
            "{T} (?:is|takes place) {V} instead of {W}",
            "{T} (?:is|takes place) {V}{not} {W}",
        ),
    ),
    Attribute(
        name="start",
        value="when",
        is_about_thing=True,
        sentences=("{T} (?:starts|begins|opens|leaves|departs) {V}",),
        change_sentences=(
            "{T} {moved} (?:to|for|until) {V}",
            "{T} (?:starts|begins|opens|leaves|departs) {V} instead of {W}",
        ),
    ),
    Attribute(
        name="end",
        value="when",
        is_about_thing=True,
        sentences=("{T} (?:ends|finishes|closes|expires) {V}",),
        change_sentences=("{T} (?:ends|finishes|closes) {V} instead of {W}",),
    ),
)

ATTRIBUTES = (
    _HOME,
    _BASE,
    _EMPLOYER,
    _OCCUPATION,
    _WORKPLACE,
    _UNIVERSITY,
    _MAJOR,
    _AGES,
    _BIRTHDAY,
    *_NAME_ATTRIBUTES,
    *_PERSON_ATTRIBUTES,
    *_CONTACT_ATTRIBUTES,
    *_FAVOURITE_ATTRIBUTES,
    *_POSSESSION_ATTRIBUTES,
    *_COUNT_ATTRIBUTES,
    *_SCHEDULE_ATTRIBUTES,
)


# --- Grammar. The lists are guesses at frequent words


_JOINED_BY_ALL = (
    "(?:Facebook|Instagram|Twitter|X|LinkedIn|Reddit|TikTok|Snapchat|WhatsApp|Discord|Slack"
    "|Netflix)"
)
"""People quit these without having worked there. A guess at the most frequent ones."""

_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?P<s>.+?) (?:can )?no longer (?!than\b)(?P<v>.+)", ("{s} {v}", "{s} can {v}")),
    (r"(?P<s>.+?) (?P<b>am|is|are) no longer (?P<v>.+)", ("{s} {b} {v}",)),
    (
        r"(?P<s>.+?) (?P<b>am|is|are|can) not (?P<v>.+?) (?:anymore|any more|any longer)",
        ("{s} {b} {v}",),
    ),
    (
        r"(?P<s>.+?) do(?:es)? not (?P<v>.+?) (?:anymore|any more|any longer)",
        ("{s} {v}", "{s} {third}"),
    ),
    (
        r"(?P<s>.+?) (?:have |has )?(?:stopped|quit|given up|gave up) (?P<v>\w+ing\b.*)",
        ("{s} {base}", "{s} {base_third}", "{s} am {v}", "{s} is {v}"),
    ),
    (
        rf"(?P<s>.+?) (?:have |has )?(?:left|quit) (?!{_JOINED_BY_ALL}\b)(?P<v>[A-Z].*)",
        ("{s} work at {v}", "{s} works at {v}"),
    ),
    (
        r"(?P<s>.+?) (?:have |has )?(?:resigned from|stopped working (?:at|for)) (?P<v>[A-Z].*)",
        ("{s} work at {v}", "{s} works at {v}"),
    ),
    (r"(?P<s>I) (?:have )?(?:left|quit) my job at (?P<v>[A-Z].*)", ("{s} work at {v}",)),
    (
        r"(?P<s>I) (?:have )?(?:sold|scrapped|got rid of) my (?P<v>.+)",
        ("my car is a {v}", "I have a {v}", "I own a {v}", "I drive a {v}"),
    ),
    (
        r"(?P<s>I) (?:have )?(?:broke|broken|split) up with (?P<v>[A-Z].*)",
        ("my boyfriend is {v}", "my girlfriend is {v}"),
    ),
    (
        r"(?P<v>[A-Z]\w+) and I (?:have )?(?:broke|broken|split) up",
        ("my boyfriend is {v}", "my girlfriend is {v}", "I am dating {v}"),
    ),
    (
        r"I (?:have )?(?:gave|given) up (?:on )?(?P<v>[A-Z]\w+)",
        ("I am learning {v}", "I am studying {v}", "I learn {v}", "I study {v}"),
    ),
    (
        r"I (?:have )?graduated from (?P<v>[A-Z].*)",
        ("I am a student at {v}", "I study at {v}", "I am studying at {v}", "I go to {v}"),
    ),
)

_CHANGE_VERBS = (
    "moved|relocated|turned|started|joined|got|changed|switched|became|become|quit|left|stopped"
    "|been|given|gave|sold"
)

GRAMMAR = Grammar(
    language="en",
    attributes=ATTRIBUTES,
    slots=SLOTS,
    spellings=(
        (r"\bI'm\b", "I am"),
        (r"\bI've\b", "I have"),
        (r"\b(do|does|is|are|has|have)n't\b", r"\1 not"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"\b(name|nickname|birthday)'s (?!name\b)(?=\S)", r"\1 is "),
        (r"\bfavourite\b", "favorite"),
        (r"\bcolour\b", "color"),
        (
            r"\b(?:was|were) (moved|rescheduled|postponed|shifted|pushed|changed|delayed)\b",
            r"has been \1",
        ),
        (r"\bwas born on\b", "born on"),
    ),
    openings=(
        (r"actually,? ", Mark.CORRECTED),
        (
            r"(?:correction|to correct myself|let me correct (?:that|myself)|i was wrong)[:,] ",
            Mark.CORRECTED,
        ),
        (r"(?:no|sorry), ", Mark.CORRECTED),
        (r"(?:update|news)[:,] ", Mark.NOW),
        (
            r"(?:as of (?:today|now)|from now on|starting today|since (?:yesterday|today)),? ",
            Mark.NOW,
        ),
        (r"now,? (?!that\b)", Mark.NOW),
        (r"(?:well|so|oh|ah|hey|hi|ok|okay|fyi|btw|by the way|you know|guess what)[,:!] ", None),
        (r"(?:just so you know|for the record|good news|big news|i forgot to say)[,:!] ", None),
        (r"please (?=call me)", None),
        (r"(?:please )?(?:remember|note|know)(?: that|:) ", None),
        (r"(?:just )?to let you know,? ", None),
    ),
    adverbs=(
        (r"(?:from now on|now|nowadays|these days)", Mark.NOW),
        (rf"(?:just|recently|finally|officially)(?= (?:{_CHANGE_VERBS}))", Mark.NOW),
        (r"actually", Mark.CORRECTED),
        (r"still", Mark.STILL),
    ),
    blocking_words=word_set(
        """
        also too either both sometimes usually mostly often mainly partly partially again besides
        another other temporarily tomorrow tonight maybe perhaps probably possibly
        think guess believe suppose might may would could should will shall must want wants plan
        plans planning hope hopes hoping going if unless when whenever while although though
        because said says say told tells heard hear claims used was were had did ago once before
        until till except almost nearly about around roughly approximately never ever only half
        or but than whether currently soon later eventually originally formerly previously dream
        wish wishes imagine pretend supposedly apparently allegedly reportedly considering let's
        weekend weekends weekdays during each alternate rarely
        seldom occasionally say imagine pretend then even just hopefully ideally technically
        legally officially unofficially
        """
    ),
    recency_pattern="(?: (?:yesterday|today|this morning|this week|last week))?",
    endings=_ENDINGS,
    user_subjects=frozenset(
        {"i", "the user", "user", "my", "our user", "the user's", "user's", "", "me"}
    ),
    group_subjects=word_set("we our"),
    non_names=word_set(
        """
        I My Our His Her Their Your The A An He She It They We You This That These Those There
        Here If When Who What Where Why How Some All Most Many Every Each Both Neither No Not
        Nobody Everybody Everyone Someone Anyone Today Tomorrow Yesterday Monday Tuesday Wednesday
        Thursday Friday Saturday Sunday January February March April May June July August
        September October November December In On At To From For With By And Or But So Then Now
        People Friends Please Call Yes Actually Maybe Perhaps Also Its
        """
    ),
    one_off=word_set(
        """
        wedding party deadline surgery operation funeral graduation conference ceremony reunion
        launch release concert kickoff kick-off move closing hearing barbecue picnic date demo
        presentation
        meeting call appointment interview dinner lunch brunch review workshop
        """
    ),
    frequent=word_set(
        """
        deadline date release demo presentation conference concert party launch surgery operation
        ceremony kickoff kick-off closing hearing barbecue picnic
        """
    ),
    named_once=word_set("meeting call appointment interview dinner lunch brunch review workshop"),
    definite_determiners=word_set("the our"),
    determiners=word_set("the our my"),
    joining_words=word_set("with to at for of"),
    possessives=word_set("my"),
    superlatives=word_set("eldest oldest youngest"),
    canonical_details=MappingProxyType(
        {
            "number": "phone number",
            "telephone number": "phone number",
            "e-mail": "email",
            "email address": "email",
            "e-mail address": "email",
            "mobile number": "mobile",
            "cell number": "mobile",
            "user name": "username",
            "line manager": "manager",
            "weighs": "weight",
            "weigh": "weight",
            "wakes": "wake",
            "gets": "get",
            "goes": "go",
            "starts": "start",
            "finishes": "finish",
            "monthly rent": "rent",
            "fiance": "fiancé",
            "fiancee": "fiancé",
            "fiancée": "fiancé",
            "work e-mail": "work email",
            "work email address": "work email",
            "private email address": "private email",
            "personal email address": "personal email",
        }
    ),
    in_turn=frozenset(IN_TURN.split("|")),
    several=frozenset(SEVERAL.replace("neighbou?r", "neighbour|neighbor").split("|")),
)
