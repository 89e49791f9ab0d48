"""Everyday words one or two letters away from a word of ours ("nose", "contract"): they are no typing errors.

Made by running the corrector over some 40,000 common English words and keeping those it would have changed.
"""

from __future__ import annotations

FALSE_FRIENDS = frozenset(
    """
    aback adaptive addition adoptive aeration aeroplane aeroplanes airlines aliases aligning ambience anaesthetic
    anesthetic anesthetics angler anima annealing apart apathetic appalling appealed appeasing appel areal arena
    armistice artifice artis artiste artistes artistry asses assessor assets asymmetric athletic athletics attracting
    attraction attractively autistic awarding backpacker backpackers backroom backtrack balding baldy ballooned band
    bandaged bandana banged banging banked banking banned banning bans baring barnabas barred barreled barren barret
    basset bathrobe battle battles beaut beautify bending bering bight billings billions binding bitterly blacking
    blackish blackjack blacklist blackness blanch blanked blanketed blanks bleating bled blending blessing blight
    blighted blinkers blinking bloating bloc blockading blocker blockers blocs blooming blotting blow bluffing blurb
    blurt blurted blush blushing boarder boarders bock boeing boing bolder bollocks bonded bonding boning booing
    bordered borer bottled bottomed bounding bowing boxing braiding branched branded branding breeding bridged bridger
    bridget bridle brighten brightens brightly brighton brunch brunt bullying bunt burdened buried burn burner burnet
    burt calamity camara canter capsules captains carpeted cass caste castes cattle censored censured centerd
    centrally centrist chaining chairing chandler chang changer changers chanting charge charging charing charity
    charmingly charting chatting cheapest cheerfully childless chilling chiltern chipped chipping chirping chlorine
    chomping chopped chopping chromatin chrome churning chute claiming clam clapped clapping clarify cleaner cleaners
    cleanest cleanly cleanser cleared cleaver cleverest cleverly clipper clippers clipping coalition coalitions
    coffers cognition collared collation colorado columbus columnar columnist commuted commuter commuters commutes
    compassion competed competes competition compiled compiler compilers compiles compose composer composers composes
    compound compress compresses compressive compressor comprised comprising conditional conditioned conditioner
    conditioners conduction congrats conner consent consents constant contacts contempt contend contends contented
    contest contests context contexts continent contract contracts contrary contras contrasted contrition convent
    convents conviction convictions cooked copped copping corker cornea corned cornered cornet coronation coroner
    coroners corporation corrected corrector countered coupe coupled coupler couplers couplet cowering cramping
    crashed creatine creation creatively creature creeping crippling cris crispy cropper crossing crouched crowding
    crowning crunched crusher crushers crushes crustal crusted curating curation curative currently curtail cuter
    cutie dabbling dampened dance danced dances danger dangers dangling darken declined decoration defamation defended
    deferred defiled define defines definitive delivers denoting deportation deported derail derailed descents
    deserted deserter deserters deserves designed despised dessert desserts destined detached detain detained devising
    diffusing digitally diller dimer dimmed disclosed discovered dishonored disturbed diver divers dizzying doable
    dogmatic doubled doubly dovetail dramatist dread dream dreams dreamt dreary drier drifters drillers drinkers drive
    drivel driven drives dulled dulles dynamical dynamism dynamite dynastic easement edged editions effected effector
    elegantly elemental eleventh eliciting eligibility eligible emphatic espoused evacuate evacuated evaluator everly
    evicting exacting excepting excessively exclusive excusing executing exerting exiting expensive expiring exploded
    explored exported expose exposes expressive extensive facing fade fainting faking fame famed fare fares faring
    farmed farming father fathers fatter feathered feathery feigning feld festival fiend fiends filer filet finality
    finder finders fined fingered flakes flamed flames flaming flamingo flared flatness flatten flattered flattery
    flinders flinging float flores florists flowed flowered flowery flutter foaming follower followers font foraging
    forebears forecast forecasts forehand foremost forested forester foresters forestry fracking frayed freaking freed
    freer frere fridges fried friendly frigging fringe fringed froggy frontage fronting furthers fuzz gain gains
    gardener gardeners gardenia gare garments garnish gearing gene gentlemanly gentlemen geodetic geometrical geometry
    gere gestured glancing glared glazing gleaming gloom glosses goody gorgeously grandest granny gratings greenest
    greening greenwich grin grins grossing grounded grounder guarding guitarist hales halves handbrake handy harbored
    hardness harmon harmonic harmonics harmoniously hash hazel hazen heaviness helmed helmer highlighter hight
    holiness homeless hopefully hopelessly humorously illuminate illuminates illuminati illuminating illuminator
    imaged imager impressing impressionism impressively impulsively inefficient infect infects inject injects inland
    inquiring insert inserts inset instalment instalments instinct instrumental instrumentals insufficiency
    insufficiently insuring interacting interfacing interlocking islander islanders jacked jagger joyfully keywords
    kitchener kitted lactation landscaped lather latter leaguers leaky leans learners leases leathery leave leaved
    leaver leavers lefty legation lends lester lettered licence licences licensed licensee licensees licensure liens
    lifeline lifetime ligation lighten lightened lightening lighter lighters lightest lightning likeness limiting
    litter litters lively loaves loveliness lowery machetes machin machined machinery machinist magician magicians
    maintain maintains marching margie marginal marked marker markers marketed marketer marketers marlin martin marvin
    massage massaged massager massages massing meddle menacing mesquite messaged messing milk minimalism mire mirrored
    missions misusing moaning money moneys monitored monsters monumental motioned motorcyclist mountainous mounties
    mounting muddle mulch multiplication munch musicals mute mysteriously narrating narration naturally normative nosy
    nuclear objected objector opposing originally originate overhaul overlaid overlay overlays overnight overshot
    oversight overt overtly overweight ozone pace paced pairings palace paleo paler paneling parenting parson parsons
    party pasteurized patched patenting patriots patten patter patterned payer payers payments peacefully penning
    pensions peppered performed performs peripheral perron persians persona personal personals personas pester
    peterson petitioned phonetic phonograph photographed photographic photon phrasing pictured pinning pitchers
    pitches placement placements placid planed planking planners planning planters plantings plated platformer
    pleading pleadings pleasant pledging plotters poetical pointers poise poking pollster pollsters popper poring
    porter porters portrays posed posey positional positions posse posted posting postings postponed postures potion
    potter potters prancing prat prayer prayers preformed pressing prose prospective puncture qualify quartered
    quarterly quartet quartets rabbi rabbis racing rafting rage raging raking rang ranged ranger ranging ranting
    raping raring rattling raving reachable reacting reaction rebar reductive reelection referenced reflecting
    reflective reflector reflectors refraction regional reigning rejections relapsing relatable relating relaying
    releasing reliability reliable religion reliving reloading remaking renaming renner repaying replacing replaying
    reproductive retaking reverence revolution revolutions rhythmic rigging rightist righty rinsing roasting rotating
    rounders sake salty salutation sampled sampler samplers sanction sanger saturate sault scanning scar scatters
    schooler schooner scratchy scream screams screened scripture scriptures sculptor sculptors sculptural sculptured
    sear seared secretion sectional sectioned sediment sedition seduction selection selene semen senior senor sensory
    sentient sentimental serena serenade serine shackled shackles shadowy shafts shaker shalt shaper sharpen sharpener
    sharpens shaven shay sheared sheen shifter shifters shifty shimmer shipping shit shooter shooters shopping
    shortened shortening shouldered shouldnt shout shudders shunting sided sideways sift sifted signer signers simmer
    simple singe singed sinker sinner sinners situated situations sketched skimmer skinning skipping slapping slide
    slider sliders slipping smartest smoother smoothest smoothly smudge smuggled snape snapping snatched snatches
    snide snider soften softener soggy solder solider soothed soreness sounders sounding spanning sparkles spatially
    speared speculator speculators spenders spicer spinning spoilers sport spotters spout springer squeaked squealed
    squeeze squeezes squirted staining stains stallion stallions stamping startups stationed stature status statuses
    statute statutes stealing steam steaming steen steering stemming sterling stinger stingers stinging stinking stir
    stirs stitched stomping stooping stopping storey stormy strapping streak streaks streamed streamer streamers
    streep streeter stretcher stretchers stretches stretchy strident stringer stringers striping stripping studying
    stuffing stunningly stunting stupider styled stylings stylized stylizt stylizts subclasses subjected subset
    subsets suction sufficiency sunspots surfed surprise surprises suspects swapping swatches sweeping swifts swinger
    swingers symbiotic symbolized symmetrically systolic tacky taint tainted tastefully teaches teaming teasing tempe
    temperate templars template templates tensed testa testy textiles textural textured thatcher thee themed thingy
    ting tinged tinned tinto titled toned toner tonne tonnes tons torching tortures track traction traitor traitors
    treachery treading treating trembles troopers trouser trucking tweaking unbearable unbeatable unbreakable unclean
    unicorns uniformed uniformly unnaturally unreachable unreliable unsealed upscale vantage venerable veritable
    vesicle vesicles vibrancy villager villagers violates violinist visibly volley volleys voltages waring warmed
    warming warned warning warnings warring washer washes wasted waterfowl whisked whiskey whisper whispers whistler
    whit whiten whiter wich widow widows wished wong wrapping wreak yellowing zoned
    """.split()
)
