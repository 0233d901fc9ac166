"""German filler and pieces of sentences."""

from types import MappingProxyType

from memolith.text.hollow.language import FillerLexicon
from memolith.text.lists import word_set

_MORE = r"(?: \S+){0,20}"
_YOU = r"(?:dir|dich|ihnen|sie|euch)"
_SOMEBODY = (
    r"(?:(?:der|die|den|dem) )?(?:nutzer(?:in)?|benutzer(?:in)?|user|assistent(?:en|in)?|ki|bot)"
)

FILLER = FillerLexicon(
    language="de",
    phrases=MappingProxyType(
        {
            "greeting": (
                r"(?:einen )?(?:schönen )?guten (?:morgen|tag|abend)(?: zusammen| \w+)?",
                (
                    r"(?:gute nacht|servus|moin(?: moin)?|grüß gott|hallo|hi|hey|na)"
                    r"(?: zusammen| nochmal| \w+)?"
                ),
                r"willkommen(?: zurück)?",
                (
                    r"(?:es )?(?:ist )?schön (?:von )?(?:dich|sie|dir|ihnen)"
                    r" (?:zu (?:sehen|hören|lesen)|kennenzulernen)"
                ),
                rf"(?:und )?wie geht(?:s|'s| es)(?: {_YOU})?(?: heute)?(?: denn)?(?: so)?",
                r"(?:mir geht(?:s|'s| es) )?(?:sehr )?gut(?: danke)?(?: und (?:dir|ihnen))?",
                r"und (?:dir|ihnen)",
                (
                    r"tsch(?:ü|ue)ss|ciao|bye|auf wiedersehen|bis (?:bald|dann|morgen|später"
                    r"|zum nächsten mal)|mach'?s gut|gute besserung|viel (?:spaß|erfolg|glück)"
                ),
                (
                    r"(?:ich wünsche (?:dir|ihnen) )?(?:noch )?(?:einen? )?schöne[ns]?"
                    r" (?:tag|abend|wochenende|woche|zeit|feierabend)(?: noch)?"
                ),
            ),
            "thanks": (
                (
                    r"(?:vielen |herzlichen |besten |lieben )?dank(?:e)?"
                    r"(?: (?:schön|sehr|nochmal|dir|ihnen|vielmals))*"
                    r"(?: für (?:die|deine|ihre|den|das) (?:hilfe|info|antwort|geduld"
                    r"|tipps?|auskunft"
                    r"|nachricht|rückmeldung|information(?:en)?))?"
                ),
                (
                    r"(?:sehr )?gern(?:e)?(?: geschehen)?|bitte(?: schön| sehr)?|kein problem"
                    r"|keine ursache|nichts zu danken|jederzeit(?: gerne)?"
                ),
                r"(?:das )?freut mich(?: (?:zu hören|sehr|dass es (?:klappt|hilft)))?",
            ),
            "acknowledgement": (
                (
                    r"ok(?:ay)?|ja|jo|jep|nein|nee|nö|klar|alles klar|genau|stimmt"
                    r"|richtig|natürlich"
                    r"|selbstverständlich|verstanden|verstehe|notiert|gut|super|toll|prima|perfekt"
                    r"|wunderbar|klasse|cool|schön|ach so|aha|hm+|ha(?:ha)+|wow|echt"
                    r"|wirklich|vielleicht"
                    r"|sicher|einverstanden|in ordnung|passt|macht nichts|na gut|ach|oh"
                    r"|doch|ich auch"
                    r"|weiß (?:ich )?nicht|ich weiß (?:es )?nicht|keine ahnung"
                    r"|ich verstehe|sehr gut"
                    r"|fertig|erledigt|glückwunsch|herzlichen glückwunsch"
                ),
                (
                    r"(?:das (?:ist|war) )?(?:eine |ein )?(?:sehr |wirklich |echt )?"
                    r"(?:gute|tolle|interessante|guter|schöne) (?:frage|idee|wahl|punkt|arbeit)"
                ),
                r"das (?:klingt|hört sich) (?:gut|super|toll|prima)(?: an)?",
                (
                    r"(?:das )?(?:tut mir (?:sehr )?leid|entschuldigung|entschuldige"
                    r"|verzeihung|sorry)"
                    r"(?: für (?:die|das) (?:verwirrung|missverständnis"
                    r"|unannehmlichkeiten|verspätung))?"
                ),
                r"(?:es |das )?tut mir (?:sehr )?leid(?: das zu hören)?",
                r"(?:einen )?(?:moment|augenblick)(?: bitte)?|ich schaue? (?:kurz )?nach",
            ),
            "offer": (
                (
                    rf"(?:wie|womit|wobei|was) kann ich (?:{_YOU} )?(?:(?:heute|sonst noch"
                    r"|weiter) )?"
                    rf"(?:für {_YOU} )?(?:helfen|behilflich sein|tun)(?: heute)?"
                ),
                rf"kann ich (?:sonst )?(?:noch )?(?:et)?was für {_YOU} tun",
                (
                    r"(?:wenn|falls) (?:du|sie)(?: noch| weitere)* fragen (?:hast|haben)"
                    r" (?:melde dich|melden sie sich|frag(?:en sie)?)(?: einfach| gern| gerne)*"
                ),
                (
                    rf"(?:kann|darf) ich (?:{_YOU} )?(?:sonst )?(?:noch )?(?:irgendwie "
                    r"|bei etwas )?"
                    r"(?:weiter)?(?:helfen|behilflich sein)"
                ),
                r"(?:sag|sagen sie|gib|geben sie)(?: mir)?(?: einfach| gerne?| bescheid)*"
                r" (?:wenn|falls) (?:du|sie) (?:noch|weitere|etwas|hilfe)\b" + _MORE,
                r"(?:melde dich|melden sie sich|frag(?:en sie)?)(?: einfach| gerne| jederzeit)*"
                r"(?: (?:wenn|falls) (?:du|sie)" + _MORE + ")?",
                (
                    r"ich hoffe (?:das|dies|es) (?:hilft|hat geholfen|war hilfreich|beantwortet)"
                    r"(?: \S+){0,5}"
                ),
                r"(?:möchtest du|möchten sie|soll ich)(?: \S+){1,20}",
                (
                    rf"(?:ich )?(?:helfe|unterstütze) (?:{_YOU} )?gern(?:e)?(?: weiter| dabei)*"
                    rf"|gern(?:e)? helfe ich (?:{_YOU} )?(?:dabei|weiter|damit)?"
                ),
                r"ich bin (?:hier|da|bereit)(?: um)?(?: zu helfen| um (?:dir|ihnen) zu helfen)",
                r"gibt es (?:sonst )?noch etwas" + _MORE,
            ),
            "disclaimer": (
                r"als (?:ki|künstliche intelligenz|sprachmodell|ki\w* ?\w*)\b" + r"(?: \S+){0,40}",
                r"ich bin (?:nur )?(?:eine ki|ein sprachmodell|ein ki \w+|eine künstliche"
                r" intelligenz)" + r"(?: \S+){0,40}",
                (
                    r"(?:(?:es )?tut mir leid (?:aber )?)?(?:leider )?(?:dabei|damit|das)? ?"
                    r"kann ich (?:dir |ihnen )?(?:leider )?(?:dabei |damit )?nicht"
                    r" (?:weiter)?(?:helfen|beantworten|bereitstellen)"
                ),
            ),
            "noted": (
                (
                    r"(?:das )?(?:merke|notiere|speichere) ich(?: mir)?(?: das)?(?: gern(?:e)?)?"
                    r"|ich (?:merke|notiere) (?:mir das|es mir)"
                    r"|ich (?:habe|hab) (?:mir )?(?:das|es) (?:notiert|gemerkt|gespeichert)"
                    r"|(?:das )?(?:habe|hab) ich(?: mir)? (?:notiert|gemerkt|gespeichert)"
                ),
            ),
            "reported": (
                (
                    rf"{_SOMEBODY} (?:hat )?(?:{_SOMEBODY} )?(?:begrüßt|gegrüßt"
                    r"|hallo gesagt|bedankt sich"
                    rf"|sich (?:bei {_SOMEBODY} )?(?:bedankt|verabschiedet)|begrüßte {_SOMEBODY}"
                    r"|bedankte sich|danke gesagt)"
                ),
                (
                    rf"{_SOMEBODY} (?:hat )?(?:seine |ihre )?hilfe (?:angeboten|an)"
                    rf"|{_SOMEBODY} (?:bittet|bat|fragt|fragte) (?:um|nach) (?:hilfe|informationen)"
                ),
                rf"{_SOMEBODY} (?:hat )?(?:ein|das) gespräch (?:begonnen|gestartet|beendet)",
            ),
            "nothing": (
                (
                    r"(?:es gibt )?keine (?:neuen |relevanten |weiteren |persönlichen )*"
                    r"(?:informationen|fakten|erinnerungen|angaben|details)"
                    r"(?: (?:gefunden|vorhanden|enthalten|angegeben|genannt))?"
                ),
                r"nichts (?:neues|zu (?:merken|speichern|berichten))",
            ),
        }
    ),
    reply_openings=(
        (
            r"(?:klar|natürlich|gern(?:e)?|selbstverständlich|sicher|okay|ok|alles klar|aber gern)"
            r" (?:hier (?:ist|sind|findest|kommt)|(?:gern(?:e)? )?(?:helfe|erkläre|zeige) ich"
            r"|ich (?:helfe|erkläre|zeige))(?! mein| unser)"
        ),
        (
            r"hier (?:ist|sind) (?:eine?|die|einige|ein paar|deine|ihre)(?: \S+){0,3}"
            r" (?:liste|zusammenfassung|rezepte?|beispiele?|vorschläge|ideen|tipps"
            r"|übersicht|schritte"
            r"|entwurf|tabelle|anleitung)\b"
        ),
        r"als (?:ki|künstliche intelligenz|sprachmodell)\b",
    ),
    recollection_openings=(
        (
            r"(?:wie|da) (?:du|sie|wir) (?:mir )?(?:bereits |schon |vorhin |früher )?(?:gesagt"
            r"|erwähnt|erzählt|besprochen|mitgeteilt)\b"
        ),
        (
            r"du (?:hast|hattest) (?:mir )?(?:bereits |schon |vorhin |früher |einmal |mal )?"
            r"(?:gesagt|erwähnt|erzählt|mitgeteilt)\b"
        ),
        (
            r"sie (?:haben|hatten) (?:mir )?(?:bereits |schon |vorhin |früher )?"
            r"(?:gesagt|erwähnt|erzählt|mitgeteilt) dass (?:sie|ihr\w*)\b"
        ),
        r"ich erinnere mich (?:daran )?dass (?:du|sie|dein\w*|ihr\w*)\b",
        (
            r"(?:basierend auf|aufgrund|ausgehend von|nach) (?:unseren?|unserem|deinen?|meinen?)"
            r" (?:\w+ )?(?:gesprächen?|unterhaltung(?:en)?|erinnerungen|notizen|vorlieben"
            r"|angaben)\b"
        ),
        (
            r"laut (?:meinen?|unseren?|deinen?|meiner|unserem) (?:\w+ )?(?:notizen"
            r"|erinnerung(?:en)?"
            r"|gesprächen?|aufzeichnungen|unterhaltung(?:en)?)\b"
        ),
        r"(?:beim )?letzte[ns]? mal (?:hast du|haben sie|haben wir)\b",
        r"wie (?:besprochen|erwähnt|gesagt) \w+ (?:du|sie|dein\w*|ihr\w*)\b",
        r"in unserem letzten (?:gespräch|chat)\b",
        r"ich weiß dass du\b",
    ),
    instruction_openings=(
        r"du bist ein(?:e)? (?:\w+ ){0,3}(?:assistent(?:in)?|ki|chatbot|sprachmodell)\b",
        r"deine aufgabe ist es\b",
        (
            r"beantworte die (?:frage|folgende frage)(?: des nutzers)? (?:anhand|auf basis"
            r"|mit hilfe)\b"
        ),
    ),
    incomplete_endings=word_set(
        "und oder aber weil dass obwohl sondern der die des dem den eine einen einem einer eines"
        " mein meine meinen meinem meiner unser unsere dein deine als wenn"
    ),
    short_incomplete_endings=word_set(
        "ist sind bin heiße heißt heisst in bei für von aus wohne lebe arbeite"
    ),
    incomplete_texts=(
        (
            r"(?:ich|er|sie|(?:(?:der|die) )?nutzer(?:in)?)?(?:^| )(?:wohn|leb|arbeit"
            r"|komm|heiß)(?:e|t|et)"
            r"(?: in| bei| als| aus| für)?"
        ),
    ),
    question_words=word_set(
        "wer was wo wann wie warum wieso welche welcher welches dass ob weil es"
    ),
    being=word_set("ist sind bin war waren"),
    continuation_words=word_set("weil dass sondern und oder aber obwohl denn"),
    subjects=word_set("er sie sein seine seinen ihr ihre ihren"),
    vague_openings=(
        r"(?:das|es|dies|dieses) (?:ist|war|wäre|wird|klingt|hat|geht|gefällt|macht|sieht|hört)",
    ),
    objects=word_set("es das sie ihn dort da die den dies"),
    determiners=word_set("der die das dieser diese dieses"),
    predicate_pattern=r".*(?:t|te|ten)|bin|sind|war|waren|kam|ging|hatte|wird|kann|soll|muss|will|liegen",
)
