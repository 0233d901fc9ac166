"""Words that follow "password:" and "my password is", and are none: data.

What stands in no list is taken for a password where nothing else speaks against it, so that a
missing word costs a word of the text, and a word too many may cost a secret.
"""

from memolith.text.lists import word_set

_ENGLISH = """
a able about above access active actually added after again all allowed almost already also always
an and another any anything apparently are as ask at available await bad based be because been being
below better between both broken but by bytes called can cannot case-sensitive changed changing
char characters chars check clear common complex complicated compromised computed contains correct
created default definitely deprecated derived different difficult disabled does done due each easy
either empty enabled encrypted enforced entered enough even ever every everything exactly expired
expires exposed false field fine first for forgotten found four free from generated generic given
gone good great handled hard has hash hashed have he her here hers hidden his i if ignored
important impossible in incorrect input insecure inside instead invalid is it its just kept key
known last later leaked least less like likely limited literal locked long longer lost lower
mandatory managed me mentioned mine missing more most must my needed needs neither never new next
nil no none nor not nothing now null number obfuscated obsolete obvious of off often ok okay old on
once one only open optional or other our ours out over part personal please plain plaintext prompt
protected provided public quite random rather read ready really recommended required reset
restricted return returns right rotated safe salted same saved secret secure see sensitive sent set
several shared
she short should shown simple simply since so some somebody someone something sometimes somewhere
soon still stolen stored string strong stronger such supposed sure temporary test text than that
the their theirs them then there these they thing this those three through to too totally treated
true two type typed unchanged undefined under unique unknown unset until up updated upper us use
used user useless user's uses using usually valid validated value var variable verified very void
was way we weak weaker well were what when where whether which who why will with within without
won't would wrong yes you your yours
bool boolean bytes dict float int integer list number object optional secretstr str tuple uuid any
"""

_GERMAN = """
abgelaufen aber alle allein alles alt am an anders auch auf aus bei bekannt besser bitte da damit
dann das dass dasselbe dein deine dem den denn der deshalb die dies diese dieses doch dort durch
egal ein eine einem einen einer eines einfach endlich entweder er erforderlich erlaubt es etwas
euer extrem falsch fast für ganz geändert geheim gehasht gelöscht gemeint genau gerade geschützt
gesperrt gespeichert gestern gestohlen gilt gleich gültig gut gültig hat heute hier ich ihr immer
im in ist ja jede jeder jetzt kein keine keiner kennt kompliziert korrekt kurz lang leer leicht
leider man mein meine meins mehr merken mit muss nach nächste natürlich neu nicht nichts nie
niemand noch nötig nur ob oder ohne okay optional richtig schlecht schon schwach schwer sehr sein
seit sicher sie siehe so sofort soll sollte stark streng super to überall um unbekannt und ungültig
uns unser unsicher unter unverändert verboten vergessen verloren verschlüsselt vertraulich viel
vom von vor vorhanden wahrscheinlich war weg weil weiterhin wer wichtig wie wieder wird wirklich wo
wurde zeichen ziemlich zu zufällig zum zur zurückgesetzt zwischen
"""

COMMON_WORDS = word_set(_ENGLISH) | word_set(_GERMAN)
