"""English statements. The lists are from general knowledge: a guess at what people tell."""

from __future__ import annotations

from types import MappingProxyType

from memolith.text.lists import word_set
from memolith.text.statements.en_sentences import ATTRIBUTES, IN_TURN, SEVERAL, SLOTS
from memolith.text.statements.language import Grammar, Mark

_JOINED_BY_ALL = (
    "(?:Facebook|Instagram|Twitter|X|LinkedIn|Reddit|TikTok|Snapchat|WhatsApp|Discord|Slack"
    "|Netflix)"
)
"""What people quit that never worked there. A guess at the most frequent."""

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
