"""German stop words: pronouns, auxiliaries, articles, prepositions, conjunctions.

After the list of the Snowball project, without what is an English word of weight ("die", "war",
"man", "hat", "bin", "den", "mine", "will"): the lists hold for texts in either language, and a
frequent word that is no stop word weighs little.
"""

from memolith.text.lists import word_set

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
