"""Which tokenizer a language takes, by its ISO 639 code: plain data, in the form that `Tokenizer.of` reads."""

#: Languages that write no spaces between words.
SEGMENTED = "zh yue wuu ja th lo km my"
#: Languages that elide vowels before an apostrophe.
ELIDING = "fr it ca oc co wa frp lij lmo nap pms scn vec fur ga"
#: Languages with two letters i.
TURKIC = "tr az crh gag"
#: Languages that write ß or ss.
GERMAN = "de als gsw bar nds pfl ksh"
#: Every other language of which word vectors are published.
PLAIN = """
af am an ar arz as ast azb ba bcl be bg bh bn bo bpy br bs ce ceb ckb cs cv cy da diq dv el eml eo es et eu fa fi frr fy gd gl
gom gu gv he hi hif hr hsb ht hu hy ia id ilo io is jv ka kk kn ko ku ky la lb li lt lv mai mg mhr min mk ml mn mr mrj ms mt
mwl myv mzn nah nb ne new nl nn no nso or os pa pam pl pnb ps pt qu rm ro ru sa sah sc sco sd sh si sk sl so sq sr su sv sw
ta te tg tk tl tt ug uk ur uz vi vls vo war xmf yi yo zea
"""

LANGUAGES = {
    "en": "english",
    **dict.fromkeys(PLAIN.split(), "plain"),
    **dict.fromkeys(SEGMENTED.split(), "plain:segment=vocabulary"),
    **dict.fromkeys(ELIDING.split(), "elision"),
    **dict.fromkeys(TURKIC.split(), "plain:fold=turkish"),
    **dict.fromkeys(GERMAN.split(), "plain:fold=german"),
}
