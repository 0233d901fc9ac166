"""English filler and pieces of sentences."""

from types import MappingProxyType

from memolith.text.hollow.language import FillerLexicon
from memolith.text.lists import word_set

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
