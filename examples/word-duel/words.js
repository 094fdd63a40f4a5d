/** The words that count: all that were thought of for the letters of a round. */

/** The letters of a round are one of these words, shuffled. */
export const RACKS = "strange painter gardens stories plaster teacher islands monster kitchen flowers".split(" ");

export const WORDS = new Set(
  `
ace ache acre act age agent agents ages aid aids ail air ale alert alp alter alters and anger angers ant ante antes ape apt arc arch are argent art
arts asp astern ate car care cart cat cater char chart chat cheat cheater chin crate danger dangers dare dares dear den dens dial dials din dins drag
drags each ear earn earns ears earth east eat eats end ends entrap era eras ere erg etch ether ethnic few flew floe floes flow flower flowers flows
foe foes for fore fowl fowler fowls gander garden gardens garnet gas gate gates gear gears get gets gnat gnats grade grades grand grant grants grate
grates great hare hat hate hear heart heat hen her here hint ice inch inert ink inter irate island islands itch its kin kit kitchen kite lad lads lain
land lands lap laps late later leap leaps least let lets lid lids lore lose low lower lowers lows men mentor mentors met metro monster more morse most
nag nags nail nails nap nape near nears neat neck nest net nets nice niche nick nose not note notes omen omens one ones owe owes owl owls pain paint
painter pair pal pale palest pals pan pane part parts past paste pastel pat pats pear pearl pearls pears peat pen pest pet petal petals pets pie pier
pin pine pint pirate pit plaster plat plate plates plea pleas print rad rag rage rages rags rain ran rang range ranged ranges rant rants rap raps rapt
rat rate rates rats reach react read reads real red rent rents repaint resist rest rests riot riots rip ripe ripen rise rises roe role roles rose
roses rot rote rots row rows sad sag sage said sail sale sand sander sane saner sang sap sat sea seal seat self send sent serf set sets sew sin sire
sister sit site sites sits slain slap slate slid slow slower snag snail snare snared snort sore sort sorts spa spare spear splat stage staple star
stare steal stem step stern stir stirs stone store stories storm strange strap swore tale tales tan tang tans tap tape taper tapes taps tar tars tea
teach teacher tear tears teas tee ten tens term terms tern the then there thick thin thine think three tick tie tier tiers ties tin tine tire tires
toe toes tome tomes ton tone tones tons tore torn toss trace train trap traps tree trip tripe woe woes wolf wore worse
`.trim().split(/\s+/),
);
