"""Routing by example: a labelled set in English and German."""

from memolith.domain.memories import Origin
from memolith.policies.salience import (
    EPISODIC,
    KINDS,
    PROCEDURAL,
    SEMANTIC,
    WORKING,
    RoutingClassifier,
    restrict_kind,
    route,
)
from support.rows import check_each

ENGLISH = {
    PROCEDURAL: [
        "I prefer metric units.",
        "I always drink tea in the morning.",
        "I hate long meetings.",
        "My favorite editor is Vim.",
        "My favourite colour is green.",
        "Please always answer in French.",
        "I really don't like cilantro.",
        "From now on, use tabs.",
        "I never eat meat.",
        "I usually take the train to work.",
        "I'd rather have short answers.",
        "Make sure you cite your sources.",
        "I want you to be brief.",
        "Never use emojis.",
        "I can't stand small talk.",
        "I love hiking in the Alps and I always carry a map.",
        "My preferred language is Rust.",
        "Keep your answers short.",
    ],
    WORKING: [
        "I'm currently debugging the login page.",
        "Right now the server is down.",
        "At the moment I'm in a meeting.",
        "In this session we work on the parser.",
        "Today I want to finish the report.",
        "Let's continue with the second test.",
        "For now, skip the integration tests.",
        "I'm about to deploy version 2.",
        "This conversation is about my thesis.",
        "We are currently on step three.",
        "Now I need the list of files.",
        "My current task is the migration.",
    ],
    SEMANTIC: [
        "User is a backend engineer specializing in Python and PostgreSQL.",
        "User is building a SaaS product with FastAPI and Stripe integration.",
        "Paris is the capital of France.",
        "My name is Alice and I live in Oslo.",
        "I work at Siemens.",
        "I'm a nurse.",
        "Anna works for the city of Bergen.",
        "The Rhine flows through Cologne.",
        "Python supports several programming paradigms.",
        "Memolith stores memories in a SQLite file.",
        "My sister has two children.",
        "We use PostgreSQL in production.",
        "Water boils at 100 degrees.",
        "Tim Berners-Lee invented the World Wide Web.",
        "Berlin was the capital of Prussia.",
        "The company was founded in 1998.",
        "My wife is a teacher.",
        "They own a small bakery.",
        "Our office is on the third floor.",
        "The API returns JSON.",
        "He speaks four languages.",
        "The meeting room has no windows.",
        "Dr. Smith teaches physics at MIT.",
        "Copper conducts electricity.",
        "Anna, my sister, lives in Oslo.",
        "In summer, the museum opens at nine.",
        "The train to Hamburg leaves at 7:15 and costs 30 euros.",
    ],
    EPISODIC: [
        "Yesterday we discussed the database migration.",
        "2024-01-18: User reported issue with Alembic autogenerate on enums.",
        "2024-01-20: Discussed database migration from MySQL to PostgreSQL.",
        "I went to the dentist.",
        "What is the capital of France?",
        "Thanks a lot!",
        "I met Anna at the airport last week.",
        "She told me about her trip.",
        "I have finished the report.",
        "We had dinner at an Italian place.",
        "Hello, how are you?",
        "I'm so tired.",
        "That's great news!",
        "Can you help me with my homework?",
        "I have a question about taxes.",
        "The concert was wonderful.",
        "I bought a new bike on Saturday.",
        "Please send me the file.",
        "Ok, sounds good.",
        "User asked how to deploy the app.",
        "My brother is visiting us tomorrow.",
        "I was at the beach with Tom.",
        "Then the lights went out and everybody laughed.",
        "I need to call my mother.",
        "Wow, John, that's incredible.",
        "You're so kind.",
        "It's awesome to have you here.",
        "Busy with studies but all good.",
        "Our team is the best!",
        "Bye for now.",
    ],
}
GERMAN = {
    PROCEDURAL: [
        "Ich mag Tee.",
        "Ich trinke morgens immer Kaffee ohne Milch, ich trinke immer schwarz.",
        "Ich hasse lange Besprechungen.",
        "Mein Lieblingsessen ist Lasagne.",
        "Bitte antworte immer auf Deutsch.",
        "Ab sofort bitte kürzere Antworten.",
        "Ich esse nie Fleisch.",
        "Ich möchte, dass du mich duzt.",
    ],
    WORKING: [
        "Ich arbeite gerade an der Anmeldeseite.",
        "Im Moment bin ich in einer Besprechung.",
        "In dieser Sitzung geht es um den Parser.",
        "Wir sind jetzt bei Schritt drei.",
        "Derzeit läuft der Server nicht.",
        "Heute möchte ich den Bericht fertig machen.",
    ],
    SEMANTIC: [
        "Paris ist die Hauptstadt von Frankreich.",
        "Ich heiße Otto und wohne in Celle.",
        "Ich arbeite bei Siemens.",
        "Anna wohnt in München.",
        "Der Rhein fließt durch Köln.",
        "Meine Schwester hat zwei Kinder.",
        "Die Firma wurde 1998 gegründet.",
        "Wir verwenden PostgreSQL.",
        "Das Programm unterstützt mehrere Sprachen.",
        "Unser Büro ist im dritten Stock.",
        "Goethe schrieb den Faust.",
        "Mein Hund heißt Bello.",
        "Der Zug nach Hamburg kostet 30 Euro.",
    ],
    EPISODIC: [
        "Gestern haben wir über die Datenbank gesprochen.",
        "Ich bin zum Zahnarzt gegangen.",
        "Was ist die Hauptstadt von Frankreich?",
        "Vielen Dank!",
        "Letzte Woche habe ich Anna getroffen.",
        "Ich bin so müde.",
        "Wir haben in Rom gegessen.",
        "Kannst du mir helfen?",
        "Das ist ja toll!",
        "Ich habe eine Frage zur Steuer.",
        "Mein Bruder kommt morgen früh zu Besuch.",
        "Der Film war wunderbar.",
    ],
}
LABELLED = [(k, text) for label in (ENGLISH, GERMAN) for k, ts in label.items() for text in ts]


@check_each(("kind", "text"), LABELLED)
def test_users_sentence_is_routed_to_its_kind(kind: str, text: str) -> None:
    assert route(text, origin=Origin.USER) == kind


@check_each("origin", [origin for origin in Origin if origin is not Origin.USER])
@check_each("text", [*ENGLISH[PROCEDURAL], *GERMAN[PROCEDURAL]])
def test_only_user_can_have_preferences(origin: Origin, text: str) -> None:
    assert route(text, origin=origin) == SEMANTIC


def test_kind_is_restricted_only_for_preferences_of_others() -> None:
    assert [restrict_kind(kind, Origin.USER) for kind in KINDS] == list(KINDS)
    assert [restrict_kind(kind, Origin.DOCUMENT) for kind in KINDS] == [
        SEMANTIC, SEMANTIC, EPISODIC, WORKING,
    ]  # fmt: skip


@check_each(
    "text", ["", "```\nI always use tabs\n```", "`I prefer tea`", "...", "Do you know what I like?"]
)
def test_text_without_statement_is_episodic(text: str) -> None:
    assert route(text, origin=Origin.USER) == EPISODIC


def test_text_gets_kind_of_its_majority() -> None:
    fact, now, event = "Oslo is a city. ", "We are currently on step 3. ", "She laughed at him. "
    assert route(fact + now, origin=Origin.DOCUMENT) == WORKING
    assert route(fact * 2 + now, origin=Origin.DOCUMENT) == SEMANTIC
    assert route(fact + event * 2, origin=Origin.DOCUMENT) == EPISODIC


def test_one_preference_makes_text_procedural() -> None:
    text = "Oslo is a city. She laughed at him. It rained. I prefer tea."
    assert route(text, origin=Origin.USER) == PROCEDURAL


def test_labelled_set_is_large_enough() -> None:
    assert sum(map(len, ENGLISH.values())) >= 60
    assert sum(map(len, GERMAN.values())) >= 30


def test_single_text_is_classified_as_new() -> None:
    judging = RoutingClassifier()
    assert judging.classify("I prefer tea.", Origin.USER) == (PROCEDURAL, 0.76)
    assert judging.classify("It rained.", Origin.USER)[1] == 0.6
