"""English word lists: stop words, cues, discourse markers and filler.

The stop words follow the Snowball project, without "will" and "may": these are also names, and
frequent words weigh little anyway.
"""

from __future__ import annotations

from types import MappingProxyType

from memolith.text.lexicon.language import Cues, DiscourseMarkers, FillerLexicon, word_set

_STOP_WORD_LIST = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves what which who whom this that
these those am is are was were be been being have has had having do does did doing would should
could ought can cannot shall a an the and but if or because as until while of at by for with
about against between into through during before after above below to from up down in out on
off over under again further then once here there when where why how all any both each few more
most other some such no nor not only own same so than too very just also
let's don't doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't won't wouldn't
shan't shouldn't can't couldn't mustn't needn't mightn't ain't
"""
STOP_WORDS = word_set(_STOP_WORD_LIST)


# --- Cues. The companion profile defines the first ones of each kind


CUES = Cues(
    language="en",
    naming=(
        "your name is",
        "your new name is",
        "your name will be",
        "your name shall be",
        "your name should be",
        "call yourself",
        "name yourself",
        "i'll call you",
        "i will call you",
        "i'm going to call you",
        "i am going to call you",
        "i want to call you",
        "let me call you",
        "i name you",
        "you are called",
        "you're called",
        "go by the name",
    ),
    identity=(
        "my name is",
        "my name's",
        "my full name is",
        "i live in",
        "i live at",
        "i live near",
        "i live on",
        "i live with",
        "i'm living in",
        "i am living in",
        "i moved to",
        "i've moved to",
        "we live in",
        "we moved to",
        "we've moved to",
        "i have moved to",
        "i moved from",
        "i've moved from",
        "i have moved from",
        "i no longer live",
        "i no longer work",
        "i no longer eat",
        "i no longer drink",
        "i no longer smoke",
        "i'm no longer",
        "i am no longer",
        "i don't live in",
        "i don't work at",
        "i quit my job",
        "i left my job",
        "i changed my name",
        "i've changed my name",
        "i am called",
        "i'm called",
        "people call me",
        "my friends call me",
        "call me",
        "i come from",
        "i'm from",
        "i am from",
        "i was born",
        "i grew up",
        "my birthday is",
        "my birthday's",
        "my date of birth",
        "i am # years old",
        "i'm # years old",
        "i turned #",
        "i work at",
        "i work for",
        "i work as",
        "i work in",
        "i'm working at",
        "i'm starting at",
        "i am starting at",
        "i start at",
        "i started at",
        "i've started at",
        "i'm working as",
        "my job is",
        "i study at",
        "i'm studying",
        "i am studying",
        "i am a !bit !little !lot !fan !big !huge !mix !couple !few !total !complete !sucker !firm",
        "i'm a !bit !little !lot !fan !big !huge !mix !couple !few !total !complete !sucker !firm",
        "i am an",
        "i'm an",
        "i am married",
        "i'm married",
        "i am single",
        "i'm single",
        "i am divorced",
        "i'm divorced",
        "i am allergic",
        "i'm allergic",
        "i am vegetarian",
        "i'm vegetarian",
        "i am vegan",
        "i'm vegan",
        "i speak",
        "my wife is",
        "my husband is",
        "my partner is",
        "my wife's name",
        "my husband's name",
        "my partner's name",
        "my son's name",
        "my daughter's name",
        "my dog's name",
        "my cat's name",
        "my address is",
        "my phone number is",
        "my email is",
        "my email address is",
        "my hometown is",
        "my pronouns are",
        "my native language is",
    ),
    correction=(
        "that's wrong",
        "please remember",
        "that is wrong",
        "this is wrong",
        "it's wrong",
        "you're wrong",
        "you are wrong",
        "you got that wrong",
        "you got it wrong",
        "that's not right",
        "that is not right",
        "that isn't right",
        "that's not correct",
        "that is not correct",
        "that isn't correct",
        "that's not true",
        "that is not true",
        "that isn't true",
        "that's incorrect",
        "that is incorrect",
        "that was wrong",
        "not quite right",
        "^actually",
        "^correction",
        "let me correct",
        "i need to correct",
        "to correct myself",
        "i was wrong",
        "i misspoke",
        "i meant",
        "what i meant",
        "you misunderstood",
        "that's a mistake",
        "remember that",
        "remember this",
        "don't forget",
        "do not forget",
        "keep in mind",
    ),
    preference=(
        "i prefer",
        "i like",
        "i love",
        "i hate",
        "i dislike",
        "i enjoy",
        "i adore",
        "i can't stand",
        "i cannot stand",
        "i would rather",
        "i'd rather",
        "i would prefer",
        "i'd prefer",
        "i'm a fan of",
        "i am a fan of",
        "i'm a big fan of",
        "i am a big fan of",
        "i'm not a fan of",
        "i'm fond of",
        "i am fond of",
        "i'm into",
        "my favorite",
        "my favourite",
        "my preference is",
        "my preferred",
        "i want you to",
        "i'd like you to",
        "i would like you to",
        "please always",
        "please never",
        "please use",
        "please avoid",
        "please don't",
        "please do not",
        "always use",
        "never use",
        "always answer",
        "always reply",
        "from now on",
        "^make sure",
        "please make sure",
        "make sure you",
        "^always !a !an",
        "^never !mind !again !a",
        "when i ask",
        "whenever i ask",
        "every time i ask",
    ),
    fillers=(
        "really",
        "also",
        "just",
        "always",
        "absolutely",
        "usually",
        "generally",
        "still",
        "now",
        "actually",
        "truly",
        "particularly",
        "especially",
        "definitely",
        "much",
        "currently",
        "originally",
        "do",
        "don't",
        "not",
        "didn't",
        "never",
        "personally",
        "strongly",
    ),
    exceptions=(
        "i love it",
        "i love this",
        "i love that",
        "i love them",
        "i love you",
        "i love how",
        "i hate it",
        "i hate this",
        "i hate that",
        "i enjoy it",
        "i like to hear",
        "some of my favorite",
        "some of my favourite",
        "i'd like to know",
        "i would like to know",
        "call me back",
        "call me when",
        "call me if",
        "call me at",
        "call me on",
        "call me tomorrow",
        "call me later",
    ),
    question_words=(
        *("what", "what's", "which", "who", "who's", "whose", "when", "where", "why", "how"),
        *("do", "does", "did", "is", "are", "was", "were", "am", "can", "could", "will", "would"),
        *("should", "shall", "have", "has", "had", "if", "whether", "know", "remember", "recall"),
        *("guess", "tell", "don't", "didn't", "isn't", "aren't"),
    ),
)


# --- Discourse markers, all of them guesses at frequent phrases


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


# --- Filler and incomplete sentences


_HELP = r"(?:help|assist|support|be of (?:help|assistance|service)|lend a hand)"
_MORE = r"(?: \S+){0,20}"
_SOMEBODY = r"(?:the )?(?:user|assistant|ai|bot|chatbot|agent|model|human|customer|speaker)"
_TODAY = r"(?: today| now| further| then| right now| with (?:that|this|it))?"

FILLER = FillerLexicon(
    language="en",
    phrases=MappingProxyType(
        {
            "greeting": (
                (
                    r"(?:a )?(?:very )?good (?:morning|afternoon|evening|night|day)"
                    r"(?: to you)?(?: again| everyone| all| \w+)?"
                ),
                (
                    r"(?:hi|hello|hey|hiya|howdy|greetings|welcome back|welcome)"
                    r"(?: there| again| everyone| everybody| all| \w+)?"
                ),
                (
                    r"(?:it(?:'s| is| was) )?(?:very |so |really )?"
                    r"(?:nice|great|good|lovely|a pleasure|wonderful)"
                    r" (?:to (?:meet|see|hear from|chat with|talk to|talk with|hear)"
                    r"|(?:meeting|seeing|talking to|chatting with)) (?:you|from you)"
                    r"(?: too| again)?"
                ),
                r"(?:and )?how(?: are|'re) (?:you|things)(?: doing| going)?(?: today)?",
                r"how(?:'s| is) (?:it|everything) going(?: today)?",
                r"(?:how|what) about (?:you|yourself)",
                r"how have you been",
                r"what'?s up",
                (
                    r"i(?:'m| am) (?:doing )?(?:very |really |pretty )?(?:well|fine|good"
                    r"|great|okay)"
                    r"(?: thanks| thank you)?(?: for asking)?"
                ),
                r"and you",
                r"(?:good ?)?bye(?: bye)?(?: for now)?",
                r"(?:see|talk to|speak to) you(?: (?:all|again|later|soon|tomorrow|then))*",
                r"(?:talk|speak|see ya)(?: soon| later| to you soon)?",
                r"take care(?: of yourself)?",
                (
                    r"(?:have|enjoy) (?:a|an|your|the)(?: (?:very|really))?"
                    r"(?: (?:nice|great|good|lovely|wonderful|pleasant|fantastic|amazing"
                    r"|safe|fun))?"
                    r" (?:day|evening|weekend|night|one|time|trip|afternoon|rest of your day)"
                    r"(?: too| ahead)?"
                ),
                r"(?:good luck|best of luck|cheers|enjoy)(?: with (?:that|it|everything))?",
            ),
            "thanks": (
                (
                    r"(?:many |okay |ok |oh )?(?:thanks|thank you|thx|ty|thank u)"
                    r"(?: (?:a lot|so much|very much|again|you|anyway))*"
                    r"(?: for (?:asking|sharing|understanding|listening|letting me know"
                    r"|reaching out"
                    r"|checking in|telling me|that|this|everything|having me"
                    r"|(?:the|your|all your|all the) (?:help|info|information|update|reminder|tips?"
                    r"|advice|time|patience|message|support|feedback|kind words"
                    r"|quick reply|answer)))?"
                    r"(?: \w+)?"
                ),
                r"(?:it|that) means (?:a lot|so much|the world)(?: to me)?",
                r"(?:i )?(?:really |truly )?appreciate (?:it|that|this|your (?:help|time|support))",
                r"you(?:'re| are) (?:very |most |always |so )?welcome",
                r"(?:no|not a) (?:problem|worries|trouble)(?: at all)?",
                r"(?:it(?:'s| was| is) )?my pleasure|don't mention it|any ?time",
                (
                    r"(?:i(?:'m| am) )?(?:so |very |really )?(?:glad|happy|pleased)"
                    r" (?:to (?:help|assist|hear (?:that|it))|i could (?:help|assist)"
                    r"|that (?:helped|helps|works)|you (?:like|liked|enjoyed) it)"
                ),
            ),
            "acknowledgement": (
                (
                    r"(?:ok|okay|okey|k|yes|yeah|yep|yup|no|nope|nah|sure(?: thing)?"
                    r"|all ?right|right"
                    r"|exactly|absolutely|definitely|certainly|of course|great|cool|nice|awesome"
                    r"|perfect|wonderful|excellent|fantastic|amazing|brilliant|lovely|wow|oh|ah|aha"
                    r"|hmm+|mhm|ha(?:ha)*|lol|understood|noted|indeed|likewise|done|sorry"
                    r"|please|please"
                    r" do|go ahead|agreed|correct|true|really|good|fine|well|woo ?hoo|yay"
                    r"|omg|totally)"
                ),
                (
                    r"(?:i )?(?:got|get) it|i see|i understand|(?:that )?makes sense|fair enough"
                    r"|never ?mind|no idea|i (?:really )?don't know|not sure|maybe|i "
                    r"(?:don't )?think so"
                    r"|me too|same here|you too|i agree|good to know|will do|on it|let's go|same"
                ),
                (
                    r"(?:that )?sounds (?:good|great|perfect|like a plan|lovely|fun"
                    r"|amazing|awesome)"
                    r"(?: to me)?"
                ),
                (
                    r"(?:that|this|it)(?:'s| is| was)(?: such)?(?: (?:so|really|very"
                    r"|just))?(?: an?)?"
                    r" (?:great|good|nice|cool|awesome|fine|right|true|correct|fair|funny|amazing"
                    r"|wonderful|interesting|fantastic|excellent|okay|ok|lovely|impressive)"
                    r"(?: (?:question|idea|point|news|choice|plan|job|one))?(?: to "
                    r"(?:hear|know)| \w+)?"
                ),
                (
                    r"(?:good|great|excellent|nice|interesting)"
                    r" (?:question|idea|point|choice|job|work|one|call|catch|to (?:hear|know))"
                ),
                (
                    r"(?:i )?didn't (?:quite )?(?:understand|catch) (?:that|it)"
                    r"|(?:could|can) you (?:please )?(?:rephrase|repeat|clarify)(?: (?:that|it))?"
                ),
                r"congrat(?:s|ulations)(?: (?:on|for) (?:that|it|this))?|well done",
                (
                    r"(?:i(?:'m| am) )?(?:so |very |really )?sorry"
                    r"(?: (?:to hear (?:that|this|it)|about (?:that|this|it)"
                    r"|for the (?:confusion|delay|inconvenience|mistake|misunderstanding)))?"
                ),
                (
                    r"(?:my |please accept my )?(?:sincere )?apologies"
                    r"(?: for (?:the|any|my) (?:confusion|delay|inconvenience|mistake|error))?"
                ),
                (
                    r"i apologi[sz]e(?: for (?:the|any|my|that)"
                    r"(?: (?:confusion|delay|inconvenience|mistake|error|misunderstanding))?)?"
                ),
                r"(?:just )?(?:one|a) (?:moment|second|sec|minute)(?: please)?",
                (
                    r"let me (?:check|think|see|look|look (?:it|that|this) up"
                    r"|look into (?:it|that))"
                    r"(?: (?:that|this|it))?(?: for you)?"
                ),
                r"here you (?:go|are)|here it is",
            ),
            "offer": (
                rf"(?:so )?how (?:can|may|could|might) i {_HELP}(?: you)?{_TODAY}",
                rf"what (?:can|may|could) i (?:do|help)(?: for you| you with)?{_TODAY}",
                rf"what would you like (?:help with|to (?:do|know|talk about|discuss)){_TODAY}",
                r"what(?:'s| is) on your mind(?: today)?",
                (
                    r"(?:is there )?(?:any|some) ?thing (?:else|more|in particular|specific)"
                    rf"(?: (?:i can (?:{_HELP}|do)|you(?:'d| would) like|you need|that){_MORE})?"
                ),
                r"(?:please |just )?(?:let me know|tell me)"
                r" (?:if|how i can|what else|whenever|should) (?:you|i|there)\S*" + _MORE,
                r"(?:please |just )?let me know",
                r"(?:please )?(?:feel free|don't hesitate|do not hesitate) to"
                r" (?:ask|reach|contact|let|share|tell|message)" + _MORE,
                r"would you like (?:me )?to(?: \S+){1,20}",
                r"(?:do|did) you (?:have|need) any(?:thing)?(?: (?:other|more|further"
                r"|else|specific))?"
                r"(?: (?:questions?|help|information|assistance))?" + r"(?: \S+){0,6}",
                r"(?:i(?:'m| am) )?(?:always |just )?(?:here|ready|available|happy|glad) (?:to"
                rf" {_HELP}|if you need)(?: (?:you|with that|with this|me|anything))?"
                r"(?: with (?:any|your) \w+)?" + _TODAY,
                (
                    r"i(?:'d| would) be (?:more than )?(?:happy|glad"
                    rf"|delighted) to {_HELP}(?: you)?"
                    rf"{_TODAY}"
                ),
                rf"i can (?:certainly |definitely )?{_HELP}(?: you)? with (?:that|this|it)",
                r"(?:i )?(?:really )?hope (?:this|that|it) (?:helps|works|is helpful|was helpful"
                r"|answers your question|clears (?:it|things|that) up)" + r"(?: \S+){0,4}",
                r"i hope you(?:'re| are| have| had| enjoy| feel| find)(?: \S+){0,8}",
            ),
            "disclaimer": (
                r"as an (?:ai|artificial intelligence|language model)\b" + r"(?: \S+){0,40}",
                r"i(?:'m| am) (?:just |only )?an? (?:ai|artificial intelligence|language model"
                r"|large language model|virtual assistant|computer program)" + r"(?: \S+){0,40}",
                r"i don't have (?:personal )?(?:feelings|opinions|emotions|preferences"
                r"|personal experiences|real time|access to real time)" + r"(?: \S+){0,20}",
                r"(?:(?:i(?:'m| am) )?sorry (?:but )?|unfortunately )?i(?: am|'m)?"
                r" (?:can't|cannot|can not|unable to|not able to|won't be able to)"
                r" (?:help|assist|provide|fulfil+|comply|browse|generate|discuss)"
                r"(?: you)?(?: with)?(?: (?:that|this|your|the|real time))?" + r"(?: \S+){0,8}",
            ),
            "noted": (
                (
                    r"(?:okay )?(?:i(?:'ve| have|'ll| will) )?(?:made a note|make a note"
                    r"|noted|saved"
                    r"|stored|recorded|updated|remember(?:ed)?|added|keep|note)"
                    r" (?:(?:of )?(?:that|this|it)|(?:in|to) (?:my )?(?:memory|mind)"
                    r"|my (?:memory|notes)"
                    r"|your preferences?)(?: (?:down|in mind|(?:in|to) (?:my )?(?:memory|notes)))?"
                    r"(?: for (?:future reference|next time|you|later|the future))?"
                ),
                r"memory (?:was |has been )?(?:updated|saved|stored)",
            ),
            "reported": (
                (
                    rf"{_SOMEBODY} (?:has |had |just )?(?:greeted|greets|is greeting|thanked|thanks"
                    rf"|is thanking)(?: (?:{_SOMEBODY}|me|them|back))?"
                    r"(?: for (?:the|their|its|his|her) (?:help|assistance|information"
                    r"|advice|answer"
                    r"|support|response))?"
                ),
                rf"{_SOMEBODY} (?:has |just )?(?:said|says|is saying)"
                r" (?:hi|hello|hey|thanks|thank you|goodbye|bye|good (?:morning|night|evening)|ok"
                r"|okay|yes|no|sorry)" + rf"(?: to {_SOMEBODY})?",
                (
                    r"(?:the )?(?:assistant|ai|bot|chatbot|agent|model) (?:has |is )?"
                    r"(?:offered|offers"
                    r"|ready|here|available|willing|happy|able)(?: to)? "
                    r"(?:help|assist|assistance|support|provide (?:help|assistance|information))"
                    rf"(?: (?:{_SOMEBODY}|with (?:that|this|anything|questions|any questions)))*"
                ),
                rf"{_SOMEBODY} (?:has )?(?:initiated|started|began|ended|opened) (?:a|the|an)"
                r" (?:conversation|chat|session|greeting)" + rf"(?: with {_SOMEBODY})?",
                (
                    rf"{_SOMEBODY} (?:is|was) (?:in|having) a (?:conversation|chat)"
                    rf"(?: with {_SOMEBODY})?"
                ),
                (
                    rf"{_SOMEBODY} (?:has )?(?:expressed|expresses) (?:gratitude|thanks"
                    r"|appreciation)"
                    rf"(?: (?:to|for) (?:{_SOMEBODY}|the help|the assistance))?"
                ),
                rf"{_SOMEBODY} (?:sent|wrote) a (?:message|greeting|test message)",
                (
                    rf"{_SOMEBODY} (?:is asking|asked|asks|needs|wants|is looking) for"
                    r" (?:help|assistance|information)"
                ),
            ),
            "nothing": (
                (
                    r"no (?:new |relevant |personal |additional |further |meaningful |specific )*"
                    r"(?:facts?|information|memor(?:y|ies)|data|details|preferences|content)"
                    r"(?: (?:was|were|is|are|to|could be|found|provided|extracted"
                    r"|available|remember"
                    r"|store|extract|shared|mentioned|given|in|the|this|conversation|message))*"
                ),
                (
                    r"(?:there is |there's )?nothing (?:to|worth) (?:remember|store|extract|note"
                    r"|remembering|storing|noting|add|report)"
                ),
                r"none|n a|null|nil|undefined|nan|heartbeat ok|no reply|test|testing|test message",
            ),
        }
    ),
    reply_openings=(
        (
            r"(?:sure|sure thing|certainly|of course|absolutely|definitely|gladly|great"
            r"|great question"
            r"|no problem|all ?right|okay|ok|understood|got it|yes|happy to help)"
            r" (?:here(?:'s| is| are)|below (?:is|are)|i(?:'d| would) be (?:happy|glad)"
            r"|i can (?:certainly |definitely )?help)(?! my\b| our\b| i\b)"
        ),
        (
            r"here(?:'s| is| are) (?:an?|the|some|your|a few|several|five|three|ten|\d+)"
            r"(?: \S+){0,3} (?:list|summary|recipes?|examples?|code|version|breakdown"
            r"|overview|draft"
            r"|steps|suggestions|options|ideas|tips|table|guide|explanation|comparison|script|plan)"
            r" (?:of|for|to|that|you|on|with|how|based)"
        ),
        r"as an (?:ai|artificial intelligence|language model)\b",
        (
            r"i(?:'m| am) sorry (?:but )?i (?:can't|cannot|am unable to) (?:help|assist"
            r"|provide|fulfil)"
        ),
        r"i apologi[sz]e (?:for|if) ",
        r"i(?:'d| would) be (?:happy|glad|delighted) to (?:help|assist|explain|provide)",
    ),
    recollection_openings=(
        (
            r"(?:as|like) (?:you|we|i) (?:have |had |'ve )?(?:mentioned|said|told me"
            r"|discussed|noted"
            r"|shared|talked about)\b(?! i\b)"
        ),
        (
            r"you(?:'ve| have| had)? (?:previously |already |once |also |earlier |recently )?"
            r"(?:mentioned|told me|shared (?:that|with me)|stated|said (?:\w+ )?(?:that )?you)"
        ),
        r"(?:i|we) (?:remember|recall)(?: that)? you(?:'re|'ve|r)?\b",
        (
            r"(?:based on|from|given) (?:our|your|my) (?:\w+ )?(?:conversations?|chats?"
            r"|discussions?"
            r"|memor(?:y|ies)|preferences|profile|history|previous messages)\b"
        ),
        r"based on (?:what|everything) (?:you|i|we)\b",
        (
            r"according to (?:my|our|your) (?:memor(?:y|ies)|notes|records|(?:\w+ )?conversations?"
            r"|profile|history)\b"
        ),
        (
            r"(?:since|given that|because|seeing that) you(?:'ve| have)?"
            r" (?:mentioned|told me|said|shared)\b"
        ),
        r"last time (?:we (?:talked|spoke|chatted)|you (?:said|mentioned|told|asked))\b",
        r"in (?:our|a) (?:last|previous|earlier|prior|past) (?:conversation|chat|session)\b",
        r"i (?:already )?know (?:that )?you(?:'re| like| love| prefer| live| work| have| are)\b",
    ),
    instruction_openings=(
        r"you are (?:chatgpt|claude|gemini|copilot|siri|alexa)\b",
        r"you are (?:an?|the) (?:\w+ ){0,4}(?:assistant|ai|chatbot|bot|language model|agent)\b",
        (
            r"your (?:task|job|role|goal|purpose) is to (?:answer|help|assist|respond"
            r"|extract|provide"
            r"|generate|analy[sz]e|act|be)\b"
        ),
        r"the new retrieved facts are",
        (
            r"(?:answer|respond to) the (?:user's |following )?(?:question|query|message)"
            r" (?:based on|using|with|from)\b"
        ),
        r"respond (?:only )?(?:in|with) (?:valid )?json\b",
        r"(?:return|output) (?:only )?(?:a |the )?(?:valid )?json\b",
        r"extract (?:the |all )?(?:relevant |key )?(?:facts|memories|information) from\b",
        r"knowledge cut ?off\b",
    ),
    incomplete_endings=word_set(
        "the a an and or nor but because although than my your our their whereas unless every"
    ),
    short_incomplete_endings=word_set("at of from is are am was were as by for into called named"),
    incomplete_texts=(
        (
            r"(?:i|(?:the )?user|he|she|they)?(?:^| )(?:lives?|lived|works?|worked"
            r"|was born|is based"
            r"|resides?|wants to|likes to|name is) ?(?:in|at|near|for|as)?"
        ),
        r"i (?:live|work|study|was born|am based) (?:in|at|near|for|as)",
    ),
    question_words=word_set("who what where when why how which whose whom that it there here"),
    being=word_set("is are am was were be been being 's 're 'm"),
    continuation_words=word_set("which because than whereas and or but that although nor"),
    subjects=word_set("he she they him his her their he's she's they're he'd she'd they've"),
    vague_openings=(
        (
            r"(?:it|this|that|these|those)"
            r"(?:'s| is| was| are| were| will| would| sounds| looks| seems| feels| makes| has| can)"
        ),
        r"it'd",
    ),
    objects=word_set("it that this them those these there so him her one here"),
    determiners=word_set("the this that these those his her their"),
    predicate_pattern=(
        r".*(?:s|ed)|is|are|am|was|were|be|been|have|had|do|did|can|will|would|could|should|may"
        r"|must|went|came|got|took|made|said|told|saw|knew|left|lost|won|ran|fell|broke|began|wrote"
        r"|sold|bought|built|held|kept|met|paid|sent|spent|stood|grew|slept|ate|drank|cost|cut|hit"
        r"|leak|work|live|like|need|want|run|start|end|open|close"
    ),
)
