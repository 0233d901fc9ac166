"""Kinds of things of which none is a kind of another: two of one list exclude each other.

From general knowledge: a guess at what people name as what they like best. What is broader
("pasta") or narrower ("Earl Grey") than others of its list is left out.
"""

from __future__ import annotations

from memolith.text.lists import word_set


def _parse_groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(name.strip() for name in line.split(","))
        for line in text.strip().replace("\n  ", " ").splitlines()
    )


EXCLUSIVE_GROUPS = _parse_groups(
    """
sushi, pizza, lasagne, lasagna, ramen, tacos, burgers, curry, paella, risotto, ratatouille,
  goulash, pancakes, dumplings, falafel, burritos, moussaka, pho, pad thai, schnitzel, kebab,
  fish and chips, mac and cheese, gnocchi, haggis, chili, ceviche, biryani, shakshuka
coffee, tea, cider, gin, whisky, whiskey, water, lemonade, cola, hot chocolate, orange juice, wine,
  beer, rum, vodka, kombucha, mate
cats, dogs, horses, elephants, dolphins, owls, penguins, foxes, wolves, tigers, lions, otters,
  rabbits, turtles, pandas, koalas, bears, giraffes, sloths
cat, dog, horse, elephant, dolphin, owl, penguin, fox, wolf, tiger, lion, otter, rabbit, turtle,
  panda, koala, giraffe, sloth, the cat, the dog, the horse, the elephant, the dolphin, the owl
tennis, rowing, football, basketball, volleyball, cricket, rugby, golf, swimming, badminton,
  hockey, baseball, handball, fencing, climbing, cycling, surfing, skiing, boxing, judo, archery,
  table tennis, sailing, snowboarding
spring, summer, autumn, winter
frühling, sommer, herbst, winter
january, february, march, april, may, june, july, august, september, october, november, december
monday, tuesday, wednesday, thursday, friday, saturday, sunday
piano, guitar, violin, cello, flute, drums, trumpet, saxophone, clarinet, harp, oboe, ukulele
apples, bananas, oranges, mangoes, strawberries, cherries, grapes, pears, peaches, pineapple,
  watermelon, blueberries, raspberries, kiwis, plums
mango, apple, banana, orange, strawberry, cherry, pear, peach, kiwi, plum, blueberry, raspberry
physics, history, biology, chemistry, geography, maths, mathematics, math, economics, philosophy,
  psychology, law, medicine, linguistics, sociology, computer science, architecture, music, art,
  literature, english, latin
python, java, rust, go, ruby, javascript, kotlin, swift, c++, c#, haskell, php, scala, perl, lua
vim, emacs, vs code, nano, sublime text, intellij, pycharm, notepad++
firefox, chrome, safari, edge, brave, opera, vivaldi
windows, macos, linux, android, ios
english, german, french, spanish, italian, dutch, norwegian, swedish, danish, portuguese, polish
chess, go, scrabble, monopoly, catan, poker, bridge, risk, backgammon
"""
)
"""Values of which only one can be what somebody likes best."""

NAMED = word_set(
    """
    band singer musician song album film movie restaurant cafe café bar pub
    footballer actor actress director comedian rapper composer artist
    """
)
"""What names are of, where one is no part of another."""

FIRST_NAMES = word_set(
    """
    aaron abby abigail adam adele adrian agnes ahmed aisha alan albert alex alexander alexandra
    alfred ali alice alicia alina alison amanda amber amelia amir amy ana andrea andreas andrew
    angela anita anja anna anne annie anthony antonio anton antonia aria arthur astrid audrey
    barbara bastian beatrice ben benjamin bernd bernard beth betty bill birgit bob bjorn bjørn
    brandon brenda brian bridget bruce bruno caleb camille carl carla carlos carmen carol caroline
    catherine charles charlie charlotte chloe chris christian christina christine christoph
    claire clara claudia clemens colin connor craig cristina cynthia daisy dan daniel daniela
    danielle dave david dawn dean deborah dennis derek diana diego dieter dimitri dirk dominic
    don donald donna dora doris dorothy doug douglas dylan ed eddie edgar edith edward elaine
    eleanor elena eli elias elif elisa elise elizabeth ella ellen ellie elsa emil emilia emily
    emma emre enrique eric erica erik erika ernst esther ethan eva evan eve evelyn fabian fatima
    felix finn fiona florian frances francesca francis frank franz frida fred frederik gabriel
    gabriela gary gavin george georgia gerald gerd gina giovanni giulia gloria gordon grace graham
    greg greta gustav hana hanna hannah hannes hans harald harold harry hassan heather heidi heike
    heinz helen helena helga henrik henry hilda holly howard hugo ian ibrahim ida ines ingrid
    irene iris isaac isabel isabella ivan jack jackie jacob jake jakob james jamie jan jana jane
    janet jason javier jean jeff jen jennifer jens jeremy jerry jesse jessica jill jim joan joanna
    joe joel johan johannes john johnny jon jonas jonathan jordan jorge jose josef joseph josh
    joshua joy joyce juan judith judy julia julian julie jürgen justin kai kara karen karin karl
    karla kate katharina katherine kathleen kathy katie katja keith kelly ken kenneth kerry kevin
    kim kirsten klaus konrad kristin kurt kyle lara larry lars laura lauren laurence lea leah lee
    lena leo leon leonie leyla lia liam lily linda linus lisa liz louis louise luca lucas lucia
    lucy luis luisa lukas luke lydia maggie magnus maja malte manuel marc marco marcus margaret
    maria marie marina mario mark marlene markus marta martha martin martina mary mateo mathias
    matt matteo matthew matthias maureen maurice max maya megan mehmet melanie melissa mia michael
    michelle miguel mike mila milan miriam mohamed mohammed moira molly monica monika moritz
    nadia nadja naomi natalie natasha nathan neil nick nicholas nico nicole nigel nikita nils nina
    noah noor nora norman oleg oliver olivia olga omar oscar oskar otto owen pablo pamela pat
    patricia patrick paul paula pedro peggy penny pete peter petra phil philip philipp phoebe
    pia pierre piet priya quentin rachel raj ralph ramona raphael raul ravi raymond rebecca regina
    rene renate rhys ricardo richard rita rob robert roberto robin roger roland rolf roman ron
    ronald rosa rose rosie ross roy ruby rudi rupert ruth ryan sabine sabrina sally sam samantha
    samir samuel sandra sara sarah sascha scott sean sebastian selma sergio shannon sharon sheila
    shirley silke silvia simon simone sofia sofie sonja sophia sophie stefan stefanie stella
    stephanie stephen steve steven stuart sue susan susanne suzanne sven svenja sylvia tamara tanja
    tara ted teresa terry thea theo theresa thomas tim timo tina tobias todd tom tommy tony tracy
    trevor tristan ulrich ursula ute uwe valentina vanessa vera veronica victor victoria viktor
    vincent violet virginia wade walter wanda wayne wendy werner will william wolfgang xavier yara
    yasmin yusuf yvonne zack zara zoe zoey
    """
)
"""Names that are first names: that "Karen" and "Smith" differ does not make them two people."""
