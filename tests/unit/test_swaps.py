"""Swaps change the meaning of a sentence; each kind makes one sort of change."""

from corpora.meaning_edits import KINDS, MARK_KINDS, Swap, language_of, swaps
from corpora.pairs import load_pairs
from support.rows import check_each

EXAMPLES = [
    ("roles", "Anna owes Bob 20 euros.", "Bob owes Anna 20 euros."),
    ("roles", "My dog chased the small cat.", "The small cat chased my dog."),
    ("roles", "It moved from Monday to Tuesday.", "It moved from Tuesday to Monday."),
    ("roles", "Der Hund beißt den Mann.", "Der Mann beißt den Hund."),
    ("order", "First eat, then drive.", "First drive, then eat."),
    ("order", "Erst zahlen, dann parken.", "Erst parken, dann zahlen."),
    ("from_to", "I got a letter from my lawyer.", "I got a letter to my lawyer."),
    ("from_to", "The flight to Rome from Oslo is late.", "The flight from Rome to Oslo is late."),
    ("from_to", "Ich komme aus Prag.", "Ich komme nach Prag."),
    ("negation", "I eat meat.", "I do not eat meat."),
    ("negation", "I can't stand loud music.", "I can stand loud music."),
    ("negation", "She is coming.", "She is not coming."),
    ("negation", "He has paid the rent.", "He has not paid the rent."),
    ("negation", "Ich habe ein Auto.", "Ich habe kein Auto."),
    ("negation", "Ich habe kein Auto.", "Ich habe ein Auto."),
    ("negation", "Ich kann schwimmen.", "Ich kann nicht schwimmen."),
    ("plural", "My brother lives here.", "My brothers lives here."),
    ("plural", "Bring your children.", "Bring your child."),
    ("plural", "Feed my puppy.", "Feed my puppies."),
    ("plural", "Feed my puppies.", "Feed my puppy."),
    ("plural", "I lost a box.", "I lost boxes."),
    ("plural", "I lost the boxes.", "I lost the box."),
    ("plural", "Meine Katze schläft.", "Meine Katzen schläft."),
    ("direction", "Turn left at the church.", "Turn right at the church."),
    ("direction", "Das Bad ist links.", "Das Bad ist rechts."),
    ("before_after", "Call me before lunch.", "Call me after lunch."),
    ("before_after", "Nimm sie vor dem Essen.", "Nimm sie nach dem Essen."),
    ("modality", "You must register.", "You may register."),
    ("modality", "Du musst kommen.", "Du darfst kommen."),
    ("tense", "I work at the harbour.", "I worked at the harbour."),
    ("tense", "She worked at the harbour.", "She will work at the harbour."),
    ("tense", "I will call.", "I called."),
    ("tense", "Ich arbeite in Bonn.", "Ich arbeitete in Bonn."),
    ("number", "I have 12 cousins.", "I have 13 cousins."),
    ("number", "I have 12 cousins.", "I have 21 cousins."),
    ("number", "The rent is 1,250 euros.", "The rent is 12,500 euros."),
    ("number", "I use version 1.2 of it.", "I use version 1.20 of it."),
    ("number", "I have 2 cats and 3 dogs.", "I have 3 cats and 2 dogs."),
    ("number", "We were fifteen.", "We were fifty."),
    ("number", "Ich habe zwei Kinder.", "Ich habe drei Kinder."),
    ("decimal", "I run 3.5 km.", "I run 35 km."),
    ("decimal", "I run 35 km.", "I run 3.5 km."),
    ("sign", "It was -5 outside.", "It was 5 outside."),
    ("sign", "It was 5 °C outside.", "It was -5 °C outside."),
    ("date", "It ends on 2024-03-04.", "It ends on 2024-04-03."),
    ("date", "Die Prüfung ist am 12.03.", "Die Prüfung ist am 13.03."),
    ("date", "We met on 12/05/2024.", "We met on 05/12/2024."),
    ("date", "We met in 1996.", "We met in 1969."),
    ("date", "The 3rd of May", "The 4th of May"),
    ("date", "Wir fahren morgen.", "Wir fahren gestern."),
    ("weekday", "Choir is on Monday.", "Choir is on Tuesday."),
    ("weekday", "Chor ist montags.", "Chor ist dienstags."),
    ("month", "I was born in May.", "I was born in June."),
    ("time", "The train leaves at 6:15 am.", "The train leaves at 6:15 pm."),
    ("time", "The train leaves at 6:15 am.", "The train leaves at 7:15 am."),
    ("time", "Das Treffen ist um halb acht.", "Das Treffen ist um acht."),
    ("name", "Call Anna.", "Call Hannah."),
    ("name", "Ich lebe in Köln.", "Ich lebe in Bonn."),
    ("unit", "I ran 10 km.", "I ran 10 miles."),
    ("unit", "Das kostet 20 Franken.", "Das kostet 20 Euro."),
    ("quantifier", "All my friends smoke.", "Some my friends smoke."),
    ("quantifier", "Niemand weiß davon.", "Jeder weiß davon."),
    ("comparative", "I earn more now.", "I earn less now."),
    ("comparative", "Er ist älter als ich.", "Er ist jünger als ich."),
    ("frequency", "I always lock up.", "I never lock up."),
    ("frequency", "Ich gehe oft ins Kino.", "Ich gehe selten ins Kino."),
    ("possessive", "My car is blue.", "His car is blue."),
    ("possessive", "Mein Vater ist Arzt.", "Sein Vater ist Arzt."),
    ("pronoun", "He has left.", "She has left."),
    ("antonym", "I sold my flat.", "I bought my flat."),
    ("antonym", "Mit Milch, bitte.", "Ohne Milch, bitte."),
    ("case", "She told us everything.", "She told US everything."),
    ("case", "He moved to the US.", "He moved to the us."),
    ("symbol", "I write C++ at work.", "I write C# at work."),
    ("symbol", "The jacket was €80.", "The jacket was $80."),
    ("symbol", "It is at 10 %.", "It is at 10."),
    ("question", "You like tea.", "You like tea?"),
    ("question", "You like tea?", "You like tea."),
]  # fmt: skip


@check_each(("kind", "sentence", "changed"), EXAMPLES)
def test_each_kind_makes_its_change(kind: str, sentence: str, changed: str) -> None:
    assert Swap(kind, sentence, changed) in swaps(sentence)


def test_examples_cover_every_kind() -> None:
    assert {kind for kind, _, _ in EXAMPLES} == set(KINDS)
    assert set(KINDS) > MARK_KINDS


@check_each(
    ("sentence", "unwanted"),
    [
        ("Anna and Bob like tea.", "Bob and Anna like tea."),
        ("Anna lives with Bob.", "Bob lives with Anna."),
        ("Do you like tea?", "Do you like tea."),
        ("You like tea, don't you?", "You like tea, don't you."),
        ("I have a cat.", "I have the cat."),
        ("I'm tired.", "I am tired."),
        ("A room 2 by 3 metres", "A room 3 by 2 metres"),
        ("He isn't either.", "He isn't neither."),
        ("She's right now at work.", "She's left now at work."),
        ("I have a few friends.", "I have a many friends."),
        ("The can is empty.", "The must is empty."),
        ("May I come?", "June I come?"),
        ("I saw her yesterday.", "I saw his yesterday."),
        ("Ich will Lehrer sein.", "Ich will Lehrer ihr."),
        ("Do you have a car?", "Do you had a car?"),
        ("I move on 14 March.", "I move on 140 March."),
        ("Call 0341 555 0123.", "Call 0341 5550 0123."),
        ("Guten Morgen!", "Guten Gestern!"),
    ],
)
def test_equivalent_or_ungrammatical_swap_is_not_made(sentence: str, unwanted: str) -> None:
    assert unwanted not in [swap.changed for swap in swaps(sentence)]


@check_each("sentence", ["", " ", "?", "...", "🙂", "\n\n", "'", "-", "Hm"])
def test_text_without_anything_to_change_has_no_swaps(sentence: str) -> None:
    assert swaps(sentence) == []


def test_capitals_are_preserved() -> None:
    changed = [swap.changed for swap in swaps("NEVER CALL ME BEFORE NINE")]
    assert "NEVER CALL ME AFTER NINE" in changed
    assert "ALWAYS CALL ME BEFORE NINE" in changed


@check_each(
    ("sentence", "language"),
    [
        ("I was in Berlin.", "en"),
        ("Ich war in Berlin.", "de"),
        ("Müde.", "de"),
        ("", "en"),
        ("Oslo", "en"),
    ],
)
def test_language_is_detected_by_function_words(sentence: str, language: str) -> None:
    assert language_of(sentence) == language


def test_both_labels_have_enough_pairs() -> None:
    pairs = load_pairs()
    assert len(pairs) >= 220
    assert sum(not pair.same for pair in pairs) >= 170
    assert sum(pair.same for pair in pairs) >= 40


def test_pairs_are_unique_with_different_sides() -> None:
    pairs = load_pairs()
    assert all(pair.a != pair.b for pair in pairs)
    assert len({frozenset((pair.a, pair.b)) for pair in pairs}) == len(pairs)


def test_every_pair_has_reason() -> None:
    assert all(pair.a.strip() and pair.b.strip() and pair.why for pair in load_pairs())


def test_many_pairs_are_german() -> None:
    assert sum(language_of(pair.a) == "de" for pair in load_pairs()) >= 40


def test_no_restatement_is_swap() -> None:
    for pair in load_pairs():
        if pair.same:
            assert pair.b not in [swap.changed for swap in swaps(pair.a)]


def test_many_different_pairs_are_swaps() -> None:
    different = [pair for pair in load_pairs() if not pair.same]
    found = [pair for pair in different if pair.b in [swap.changed for swap in swaps(pair.a)]]
    assert len(found) >= 90
