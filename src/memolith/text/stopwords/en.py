"""English stop words: pronouns, auxiliaries, articles, prepositions, conjunctions.

After the list of the Snowball project. "will" and "may" are left out: they are names too, and
frequent words weigh little anyway.
"""

from memolith.text.lists import word_set

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
