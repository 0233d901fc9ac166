"""German signs; all of them guesses at what is frequent."""

from memolith.text.lists import word_set
from memolith.text.signs.language import DiscourseMarkers

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
