"""English signs; all of them guesses at what is frequent."""

from memolith.text.lists import word_set
from memolith.text.signs.language import DiscourseMarkers

_PREDICATES = """
use work live speak own run contain support require depend belong consist mean include provide
offer cost weigh measure connect store return accept reject handle manage lead teach study play
drive ride cook grow produce sell cover expire expose listen report convert cause affect act
represent describe define implement extend inherit replace precede follow border lie stand open
close cut begin end start last serve host maintain keep need take make give know lack differ equal
exceed employ eat drink wear drink sleep boil freeze melt orbit flow
"""
_THIRD_PERSON_PREDICATES = word_set(
    """
    has does owes goes comes says carries studies relies applies specifies teaches reaches matches
    passes focuses processes fixes classes consists means includes provides offers costs weighs
    uses works lives speaks owns runs contains supports requires depends belongs measures connects
    stores returns accepts rejects handles manages leads plays drives rides cooks grows produces
    sells covers expires exposes listens reports converts causes affects acts represents describes
    defines implements extends inherits replaces precedes follows borders lies stands opens closes
    begins ends starts lasts serves hosts maintains keeps needs takes makes gives knows lacks
    differs equals exceeds employs eats drinks wears sleeps boils freezes melts orbits flows likes
    loves hates prefers wants gets sends reads writes loads saves holds shows tells lets allows
    enables prevents creates builds deletes updates calls sets adds removes generates computes
    validates checks parses renders performs specializes specialises hates collects breeds coaches
    practices practises teaches attends conducts transports absorbs emits reflects attracts
    contributes competes resembles leaves arrives departs
    """
)
_PAST_PREDICATES = """
invented discovered founded wrote painted composed designed developed created built introduced
published established proposed won ruled conquered directed produced released launched coined
"""

DISCOURSE_MARKERS = DiscourseMarkers(
    language="en",
    habits=(
        "i always !thought !knew !wanted !said !felt !had !was !wondered !believed !assumed",
        "i never !had !saw !went !knew !said !got !thought !heard !met !been !did !told !found",
        "i usually",
        "i only ever",
        "i tend to",
        "we always !thought !knew !wanted !said !had",
        "we never !had !saw !went !knew !said !got",
        "we prefer",
        "i want my",
        "i need you to",
        "my favorites",
        "my favourites",
        "my go-to",
        "please keep",
        "please write",
        "please answer",
        "please reply",
        "please respond",
        "keep your answers",
        "keep your replies",
        "keep answers",
        "never call me",
        "don't ever",
        "going forward",
    ),
    habit_exceptions=(),
    current=(
        "right now",
        "just now",
        "at the moment",
        "^for now",
        "for the moment",
        "as we speak",
        "currently",
        "this session",
        "this conversation",
        "this chat",
        "this thread",
        "the current session",
        "the current conversation",
        "the current task",
        "my current task",
        "today i'm",
        "today i am",
        "today i want",
        "today i need",
        "today we're",
        "today we are",
        "today let's",
        "now let's",
        "let's now",
        "^now i",
        "^now i'm",
        "^now we",
        "^now we're",
        "i'm now",
        "i am now",
        "we're now",
        "we are now",
        "i'm about to",
        "i am about to",
        "we're about to",
        "for today",
        "so far today",
        "before we continue",
        "let's continue",
        "where were we",
    ),
    events=(
        "yesterday",
        "today",
        "tonight",
        "tomorrow",
        "last night",
        "last week",
        "last weekend",
        "last month",
        "last year",
        "last summer",
        "last monday",
        "last tuesday",
        "last wednesday",
        "last thursday",
        "last friday",
        "last saturday",
        "last sunday",
        "next week",
        "next month",
        "next year",
        "this morning",
        "this afternoon",
        "this evening",
        "this week",
        "this weekend",
        "earlier",
        "recently",
        "the other day",
        "days ago",
        "weeks ago",
        "months ago",
        "an hour ago",
        "hours ago",
        "a week ago",
        "a month ago",
        "a year ago",
    ),
    event_tense_pattern=(
        r"(?i)\b(?:have|has|had|['’]ve)\s+(?:\w+ly\s+|just\s+|already\s+|never\s+|not\s+|also\s+)?"
        r"(?:\w{2,}ed|gone|come|seen|done|made|found|got|gotten|taken|given|written|read|said|told"
        r"|sent|built|broken|begun|had|met|left|lost|bought|brought|fixed|run|put|set)\b"
        r"|^\W*\d{4}-\d\d-\d\d\b"
    ),
    chatter=(
        "have a question",
        "have questions",
        "have an issue",
        "have a problem",
        "have to",
        "has to",
        "have no idea",
        "have a look",
        "have a good",
        "have a nice",
        "make sense",
        "makes sense",
        "sounds good",
        "need to",
        "need help",
        "need your",
        "take care",
        "is it",
        "thank you",
        "is raining",
        "is snowing",
    ),
    contractions=(
        ("i'm", "i am"),
        ("i've", "i have"),
        ("you're", "you are"),
        ("we're", "we are"),
        ("we've", "we have"),
        ("they're", "they are"),
        ("he's", "he is"),
        ("she's", "she is"),
        ("it's", "it is"),
        ("isn't", "is not"),
        ("aren't", "are not"),
        ("that's", "that is"),
        ("there's", "there is"),
    ),
    predicates=_THIRD_PERSON_PREDICATES,
    ambiguous_predicates=word_set(f"{_PREDICATES} have"),
    pronouns=word_set("i we they people children"),
    being=word_set("is are am"),
    past_being=word_set("was were"),
    past_complements=word_set(
        """
        a an the one born founded built written invented created named designed released developed
        introduced located discovered established published destroyed composed painted first part
        known made called
        """
    ),
    transient_states=word_set(
        """
        tired hungry thirsty happy sad sick busy back here home ready done sorry glad excited bored
        late fine good ok okay great sure afraid angry confused stuck curious wondering thinking
        trying looking going getting nice cool awesome amazing wonderful interesting funny weird
        true right wrong correct off proud welcome raining snowing feeling having doing
        """
    ),
    past_predicates=word_set(_PAST_PREDICATES),
    speakers=word_set("i we you user he she they"),
    non_subjects=word_set(
        """
        that this there these those you please so then and but well ok okay yes no hi hello hey
        thanks now here what how why when where let's just also if to not oh great sure who which
        """
    ),
    vague_subjects=word_set("it"),
    noun_markers=word_set(
        """
        the a an my your his her our their its some many any all no of in on for to with at by from
        as new old good these those this that two three four more most few several other such and
        or into about like
        """
    ),
    adverbs=word_set(
        "a so very really quite too just still also always not never now pretty all about only"
    ),
)
