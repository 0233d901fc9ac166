"""German word lists: stop words, cues, discourse markers and filler.

The stop words follow the Snowball project, without those that are meaningful English words ("die",
"war", "man", "hat", "bin", "den", "mine", "will"). Stop words apply to texts in either language,
and frequent words weigh little anyway.
"""

from __future__ import annotations

from types import MappingProxyType

from memolith.text.lexicon.language import Cues, DiscourseMarkers, FillerLexicon, word_set

_STOP_WORD_LIST = """
aber alle allem allen aller alles als ander andere anderem anderen anderer anderes anderm
andern anders auch auf aus bei bist bis damit dann das dass daß dasselbe dazu dein deine deinem
deinen deiner deines dem demselben denn denselben der derer derselbe derselben des desselben
dessen dich dies diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch
ein eine einem einen einer eines einig einige einigem einigen einiger einiges einmal er es
etwas euch euer eure eurem euren eurer eures für gegen gewesen hab habe haben hatte hatten hier
ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im indem ins ist jede jedem jeden jeder
jedes jene jenem jenen jener jenes jetzt kann kein keine keinem keinen keiner keines können
könnte machen manche manchem manchen mancher manches mein meine meinem meinen meiner meines
mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
seinen seiner seines selbst sich sie sind solche solchem solchen solcher solches soll sollte
sondern sonst sowie um und uns unse unsem unsen unser unsere unserem unseren unserer unseres
viel vom von vor wann warum weg weil weiter welche welchem welchen welcher welches wenn werde
werden wie wieder wir wird wirst wo wollen wollte während würde würden zu zum zur zwar zwischen
über
"""
STOP_WORDS = word_set(_STOP_WORD_LIST)


# --- Cues. The companion profile defines the first ones of each kind


CUES = Cues(
    language="de",
    naming=(
        "nenn dich",
        "du heißt",
        "nenne dich",
        "nennst dich",
        "dein name ist",
        "dein name lautet",
        "dein neuer name ist",
        "dein name sei",
        "ich nenne dich",
        "ich nenn dich",
        "ich werde dich",
        "ich taufe dich",
        "du sollst heißen",
        "heißt du ab jetzt",
    ),
    identity=(
        "ich heiße",
        "ich heisse",
        "mein name ist",
        "mein name lautet",
        "ich bin der !meinung !ansicht !auffassung",
        "ich bin die !ganze !letzte",
        "ich bin ein !bisschen !wenig !fan !großer",
        "ich bin eine",
        "ich wohne",
        "ich lebe in",
        "ich lebe seit",
        "ich komme aus",
        "ich stamme aus",
        "ich bin aus",
        "ich bin in !eile !sorge !ordnung",
        "ich bin # jahre alt",
        "ich bin #",
        "ich wurde",
        "ich bin geboren",
        "ich arbeite als",
        "ich arbeite bei",
        "ich arbeite in",
        "ich arbeite für",
        "ich studiere",
        "ich spreche",
        "von beruf",
        "mein beruf ist",
        "mein geburtstag ist",
        "ich habe am",
        "ich bin verheiratet",
        "ich bin ledig",
        "ich bin geschieden",
        "ich bin allergisch",
        "ich bin vegetarier*",
        "ich bin veganer*",
        "nenn mich",
        "nennt mich",
        "man nennt mich",
        "meine frau heißt",
        "mein mann heißt",
        "mein sohn heißt",
        "meine tochter heißt",
        "mein hund heißt",
        "meine katze heißt",
        "meine adresse ist",
        "meine telefonnummer ist",
        "meine e-mail-adresse ist",
        "meine muttersprache ist",
    ),
    correction=(
        "eigentlich",
        "das ist falsch",
        "das stimmt nicht",
        "stimmt nicht",
        "das ist nicht richtig",
        "nicht ganz richtig",
        "das ist nicht korrekt",
        "das war falsch",
        "das ist nicht wahr",
        "du liegst falsch",
        "du irrst dich",
        "da irrst du dich",
        "ich meinte",
        "^korrektur",
        "ich korrigiere",
        "ich muss korrigieren",
        "ich habe mich geirrt",
        "ich habe mich vertan",
        "bitte merk dir",
        "bitte merke dir",
        "merk dir",
        "merke dir",
        "bitte denk daran",
        "denk daran",
        "bitte beachte",
        "vergiss nicht",
        "nicht vergessen",
    ),
    preference=(
        "ich mag",
        "mag ich",
        "ich liebe",
        "liebe ich",
        "ich hasse",
        "hasse ich",
        "ich bevorzuge",
        "bevorzuge ich",
        "ich möchte lieber",
        "ich hätte lieber",
        "ich trinke gern*",
        "ich trinke lieber",
        "ich esse gern*",
        "ich esse lieber",
        "ich lese gern*",
        "ich höre gern*",
        "am liebsten",
        "ich ziehe es vor",
        "mir ist lieber",
        "mir gefällt",
        "mir gefallen",
        "gefällt mir",
        "ich kann nicht leiden",
        "ich bin ein fan von",
        "ich stehe auf",
        "mein lieblings*",
        "meine lieblings*",
        "ich möchte, dass du",
        "ich will, dass du",
        "bitte immer",
        "bitte nie",
        "bitte niemals",
        "bitte keine",
        "bitte verwende",
        "bitte nutze",
        "bitte antworte",
        "verwende immer",
        "benutze immer",
        "antworte immer",
        "ab jetzt",
        "ab sofort",
        "von jetzt an",
        "in zukunft",
        "achte darauf",
        "^immer !noch !wieder !wenn",
        "^nie !wieder",
        "^niemals",
        "wenn ich frage",
        "wenn ich nach",
    ),
    fillers=(
        "auch",
        "wirklich",
        "sehr",
        "immer",
        "nur",
        "aber",
        "jetzt",
        "eigentlich",
        "übrigens",
        "persönlich",
        "absolut",
        "nicht",
        "gerade",
        "inzwischen",
        "mittlerweile",
    ),
    exceptions=(
        "ich werde dich anrufen",
        "ich werde dich fragen",
    ),
    question_words=(
        *("was", "welche*", "wer", "wen", "wem", "wessen", "wann", "wo", "woher", "wohin", "warum"),
        *(
            "wieso",
            "wie",
            "ob",
            "wenn",
            "weißt",
            "weiß",
            "kennst",
            "erinnerst",
            "ist",
            "war",
            "sind",
        ),
        *("hast", "habe", "kannst", "könntest", "willst", "wirst", "rate", "sag", "magst"),
    ),
)


# --- Discourse markers, all of them guesses at frequent phrases


_PREDICATES = """
hat habe haben hast heißt heiße heißen wohnt wohne wohnen lebt lebe leben arbeitet arbeite arbeiten
spricht spreche sprechen besitzt besitze besitzen gehört gehören bedeutet bedeuten enthält
enthalten verwendet verwende verwenden benutzt benutze benutzen nutzt nutze nutzen unterstützt
unterstützen braucht brauche brauchen benötigt benötige benötigen kostet kosten wiegt wiege wiegen
liegt liegen steht stehen besteht bestehen läuft laufen fährt fahre fahren trägt trage tragen
spielt spiele spielen lernt lerne lernen studiert studiere studieren unterrichtet unterrichte
leitet leite leiten führt führen verkauft verkaufe verkaufen produziert produzieren speichert
speichern liefert liefern lauscht erfordert erfordern umfasst umfassen beginnt beginnen endet enden
dauert dauern öffnet öffnen schließt schließen trinkt trinke trinken isst esse essen schläft kocht
koche kochen mag mögen liebt lieben hasst kennt kenne kennen weiß kann können stammt stammen kommt
komme kommen beträgt grenzt grenzen fließt schreibt liest hält halten gibt zählt gilt gelten
"""

DISCOURSE_MARKERS = DiscourseMarkers(
    language="de",
    habits=(
        "ich * immer",
        "ich * nie",
        "ich * niemals",
        "ich * meistens",
        "ich * normalerweise",
        "wir * immer",
        "ich brauche immer",
        "ich hätte gern* immer",
        "meine favoriten",
        "bitte schreib*",
        "bitte halte",
        "nenn mich nie",
    ),
    habit_exceptions=(
        "ich habe immer",
        "ich habe nie",
        "ich habe niemals",
        "ich hatte immer",
        "ich hatte nie",
        "ich war immer",
        "ich war nie",
        "ich bin immer",
        "ich bin nie",
        "ich dachte immer",
        "ich wollte immer",
        "ich wusste immer",
        "ich wusste nie",
        "wir haben immer",
        "wir waren immer",
        "ich * immer noch",
        "ich * immer wieder",
        "wir * immer noch",
    ),
    current=(
        "im moment",
        "im augenblick",
        "momentan",
        "derzeit",
        "zurzeit",
        "zur zeit",
        "gerade eben",
        "gerade dabei",
        "ich * gerade",
        "wir * gerade",
        "ich * jetzt",
        "wir * jetzt",
        "^jetzt !nicht",
        "^gerade !als",
        "^aktuell",
        "ich * aktuell",
        "wir * aktuell",
        "in dieser sitzung",
        "diese sitzung",
        "in diesem gespräch",
        "in dieser unterhaltung",
        "in diesem chat",
        "heute möchte ich",
        "heute will ich",
        "heute brauche ich",
        "fürs erste",
        "vorerst",
        "lass uns jetzt",
        "für heute",
        "lass uns weitermachen",
    ),
    events=(
        "gestern",
        "vorgestern",
        "heute",
        "morgen früh",
        "übermorgen",
        "neulich",
        "kürzlich",
        "letzte woche",
        "letzten monat",
        "letztes jahr",
        "letzten sommer",
        "letztes wochenende",
        "letzten montag",
        "letzten dienstag",
        "letzten mittwoch",
        "letzten donnerstag",
        "letzten freitag",
        "letzten samstag",
        "letzten sonntag",
        "nächste woche",
        "nächsten monat",
        "nächstes jahr",
        "diese woche",
        "am wochenende",
        "vor # tagen",
        "vor # wochen",
        "vor # monaten",
        "vor # jahren",
        "vor einer woche",
        "vor einem monat",
        "vor einem jahr",
    ),
    event_tense_pattern=(
        r"\b(?:habe?|hast|hat|haben|hatte|hatten)\b.*\s(?:[a-zäöüß]{0,8}ge[a-zäöüß]{2,}(?:t|en)"
        r"|(?:ver|be|ent|er|zer|miss)[a-zäöüß]{2,}(?:t|en)|[a-zäöüß]+iert)\W*$"
        r"|\b(?:bin|bist|ist|sind)\b.*\s[a-zäöüß]{0,8}(?:gegangen|gekommen|gefahren|geflogen|gereist"
        r"|gewesen|geworden|geblieben|passiert|gestorben|gelaufen|gefallen|gestartet|geschlafen"
        r"|gewacht|gezogen|abgestürzt|gestiegen|begegnet)\W*$"
        r"|^\W*\d{4}-\d\d-\d\d\b"
    ),
    chatter=(
        "habe eine frage",
        "hab eine frage",
        "habe ein problem",
        "habe keine ahnung",
        "vielen dank",
        "es gibt",
        "wie geht",
        "ist es",
        "brauche hilfe",
        "brauche deine",
    ),
    contractions=(("ich hab", "ich habe"),),
    predicates=word_set(_PREDICATES),
    ambiguous_predicates=frozenset(),
    pronouns=frozenset(),
    being=word_set("ist sind bin"),
    past_being=word_set("war waren wurde wurden"),
    past_complements=word_set(
        """
        ein eine einer der die das gegründet geboren gebaut erbaut geschrieben erfunden entdeckt
        erschaffen entwickelt veröffentlicht eingeführt zerstört benannt von im in durch
        """
    ),
    transient_states=word_set(
        """
        müde hungrig durstig froh traurig krank beschäftigt da hier zurück fertig bereit gut okay ok
        toll super schön nett prima sicher spät genervt gespannt neugierig verwirrt gestresst
        richtig falsch klar schade dabei unterwegs
        """
    ),
    past_predicates=word_set(
        """
        erfand entdeckte gründete schrieb malte komponierte entwarf entwickelte schuf baute
        veröffentlichte gewann eroberte regierte prägte
        """
    ),
    speakers=word_set("ich wir du er sie ihr nutzer benutzer"),
    non_subjects=word_set(
        """
        das dies bitte also dann und aber gut ok okay ja nein hallo hi danke jetzt hier was wie
        warum wann wo wer nur auch wenn nicht oh klar sicher da es du
        """
    ),
    vague_subjects=frozenset(),
    noun_markers=word_set(
        """
        der die das dem den des ein eine einen einem einer eines mein meine dein deine sein seine
        ihr ihre unser unsere zum beim vom am im zur kein keine viel viele
        """
    ),
    adverbs=word_set("so sehr wirklich ganz zu nur noch auch immer nicht nie jetzt ziemlich schon"),
)


# --- Filler and incomplete sentences


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
