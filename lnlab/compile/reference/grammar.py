"""The grammar of a spec in brief: the first part of the reference."""

GRAMMAR = """\
# The spec language

This page is made from the registries by `lnlab list --reference`. A spec is one YAML 1.2 file that describes
one experiment. With the first line `# yaml-language-server: $schema=experiment.schema.json`, editors complete and check
it.

## A spec

```yaml
lnlab: 2                                  # version of the language; required
title: Gradient norms at initialization   # required
question: Does the gradient grow?         # optional
source: {cite: a paper, figure: "3"}      # optional: cite, figure, table, section, url
differs:                                  # optional: differences from the source; an entry may be a plain sentence
  - {what: data, source: WMT14, ours: Multi30k, matters: Directions carry over.}
dropped:                                  # optional: claims that the page no longer makes, and why
  - {why: Two claims said the same., claims: [{id: grows, says: A sentence., was: supported}]}
related: {xiong_fig2: whether it trains}  # optional: other specs by name, and what each adds; the page links to them
theme: warm-up                            # optional: where an index lists it, in place of under its source
note: anything else                       # optional

task: {kind: translation, corpus: ...}    # required
model: {kind: encoder_decoder, layers: 6} # required
placement: post                           # required; norm, attention and init have defaults
encoder: {...}                            # norm, placement, attention, layers of one stack
decoder: {...}                            # the same, and cross_attention
interventions: none                       # or one, {kind: rescale, where: {tensor: sum}, factor: 2}, or a list
seeds: 10                                 # 1 to 10; or 3-7, or a list of seeds and ranges
grid_seeds: {untied: 11-16}               # optional: the seeds of a grid of the sweep that has others
claim_seeds: {post_grows: 1-40}           # optional: the seeds of a claim that needs more of them, or fresh ones
looks: 1                                  # optional: or open, or [5, 10, 20]; how often the data may be looked at
methods:                                  # optional: names for several settings at once
  T-Fixup: {placement: pre, norm: none, init: t_fixup}
sweep:                                    # a union of grids, each with a name; or a list of grids without names
  depth: {placement: [post, pre], model.layers: [6, 8], except: [{placement: pre, model.layers: 8}]}
  untied: {placement: [post, pre], model.tied: none}
                                          # or {method: [T-Fixup, ...], model.layers: [6, 8]}
choose:                                   # optional: a value of an axis that is chosen on tuning seeds
  optimizer.lr: best                      # or failing, or {kind: failing, below: 0.25}
  seeds: 101-102                          # not judged
  of: {placement: post}                   # optional: which runs decide; left out, each combination for itself
  times: [0.5, 1]                         # optional: judged at these multiples of what was chosen
  grid: depth                             # optional: the grids it is for, a name or several; or a list of choices
probes:
  - {kind: gradient_norm, at: init}       # at: init, end, a list of steps, {every: k}, {log: n}; grid: of one grid
report:
  - title: "Figure 3 (b)"                 # what the section is about
    heading: Post-LN grows, Pre-LN falls. # optional: its result in profile real; else one is made
    while: {post_grows: supported}        # optional: the heading stands in every profile that has these verdicts
    kind: depth_profile
    quantity: gradient_norm
    where: {grid: depth, model.layers: 6, stack: decoder, tensor: w2}
    claims:                               # each inherits quantity, where and x of its section
      - {id: post_grows, says: A sentence., kind: trend, of: {placement: post}, direction: up, at_least: 2.5}
claims:                                   # those of no section: the same, with everything named
  - {id: a_word, says: A sentence., kind: bound, of: {...}, over: layer, at_most: 2}
answer:                                   # shown first; {id} is a claim's estimate with its interval
                                          # ({id.estimate}: alone), {id.n} its seeds
  says: "Yes: the gradient grows {post_grows}-fold."
  while: {post_grows: supported}          # the verdicts that it was written for; others make it out of date
  profile: real                           # whose results it is about
profiles:
  smoke: {seeds: 2, model.d_model: 32}    # a flat map: dotted path -> value
```

## Rules

- **Choices.** A choice is a word, or `{kind: word, parameter: value}`. Giving a path that is a choice replaces the
  whole choice; giving a path below it sets one parameter.
- **Order.** The base, then the profile, then `-s path=value` from left to right, then the sweep. Profiles and `-s` may
  replace `seeds`, `grid_seeds`, `claim_seeds`, `methods`, `sweep`, `choose`, `probes` and `report` whole (`choose:
  null` removes it), and set any path that determines a run; nothing else.
- **Pins.** At a path that some grid sweeps, one value pins the axis to it, and a list is the axis's new values.
- **Grids.** `grid: depth` in a selection takes the runs of that grid, and `grid: [depth, untied]` those of either, so
  that axes which only other grids vary need no mention. A grid's name is part of no key. Shorter paths are set first,
  equal points are one variant, `except:` leaves partial points out. Every run has a value for every axis, swept in its
  grid or not. A grid that a profile's sweep leaves out is selected all the same, and has no runs there.
- **Methods.** A method is a flat map from dotted paths to values under one name. `method` is an axis whose values are
  such names, and selections, `over`, pins and exceptions name them too; what a method sets is no axis. A name is part
  of no key: a setting has the same runs under any name and under none. A profile or `-s` sets one path of a method as
  `methods.T-Fixup.train.steps: 400`. Two names for one setting are refused, and so
  is a grid without `method` beside one that has it.
- **Choosing.** `choose` names one axis that its grids sweep: its values are the candidates. They are run on the
  tuning seeds first, without probes; a rule chooses one by the final validation NLL, and only then are runs judged, on
  the judged seeds, at the multiples `times` of what was chosen. With `of` some runs decide
  for all, exactly one per candidate and seed. Selections cannot name the value,
  which nobody knows before; they name the axis `times`, which every judged run has. Where `failing` finds none that
  fails, the largest goes on, and a claim that `requires` the failure is not testable. A decision is kept with the plan
  and shown with its evidence. Without `choose` (`choose: null` in a profile) the axis is swept as written, or pinned.
  `grid` names the grids that a choice is for, and a list of choices has one for each of them; grids in none of them
  choose nothing. Two grids are not told apart by a chosen value: they must differ in another axis.
- **Interventions** act in order. The list is entered by kind, where only one is of that kind: a sweep, a
  selection or `over` may name `interventions.rescale.factor`, and `interventions: rescale` selects runs that have one,
  `none` those without any. `where` names sites by `stack`, `layer`, `sublayer` and `tensor`, each a word or a list.
- **Stacks.** `norm`, `placement`, `attention` and `model.layers` mean every stack; `encoder:` and `decoder:` mean one.
  Use one form or the other, not both. A selection by the short form takes runs whose stacks agree.
- **Selections** (`where`, `of`, `to`) select rows. Their keys are columns (`quantity`, `stack`, `layer`, `sublayer`,
  `tensor`, `index`, `seed`, `step` ...) or paths of the resolved setting; their values a word, a number, a truth value,
  null, or a list of these; `layer` may be `first` or `last`, and `step` may be `last`: where a run that comes to its
  end is measured last (one that diverged has no such number and has failed). `to` changes only what it names.
- **Expressions.** Wherever a section or claim names a `quantity`, it may be
  `{expr: "gradient_norm / loss[step: 0]", unit: ..., label: ...}`: names of quantities, numbers, `+ - * / **`, `sqrt`,
  `log`, `exp`, `abs`, `min`, `max`. Values meet in one run where all columns that both have agree; brackets pin
  columns of one quantity (`step`, `split`, `stack`, `layer`, `sublayer`, `tensor`, `index`, `x`).
- **Curves.** Wherever a run trains there are, by `split`, `loss` (`train`, `validation`), `nll` and `accuracy`
  (`validation`), `global_gradient_norm`, `learning_rate`, `tokens`, `epoch` and `unigram_entropy` (`train`). What is
  measured at sites has no split: `split: null`. Derived quantities of training have none either, nor a site. Those
  over a grid of rates (`best_lr`, `max_stable_lr`, ...) leave one number of all runs that differ in `optimizer.lr`
  alone, which their selection does not name.
- **References.** `learned_fraction`, `max_stable_lr` and the times to a target are measured against variants with the
  same task, which a selection names: `reference: {method: "Post-LN, warm-up"}`; `{model.layers: 2, same: method}`,
  those with the variant's own method; a list of these; or `best`, all of them. It must be named where variants differ
  in placement or init; a time to a target that names none has that of the variants which its claim compares.
- **Depths.** `encoder.sublayers` and `decoder.sublayers`, a stack's residual branches (2 a layer, 3 with
  cross-attention), and `model.sublayers`, those of all stacks, follow from a setting: they are selected by, and named
  as `over`, like its paths, and not set.
- **Claims in sections.** The selection of a claim (`of`) begins with the section's `quantity` and `where`; its own keys
  add to them or replace them, and `null` takes an inherited key away. Where its kind takes `over`, that is the
  section's `x`, unless the selection pins it: a path, or, for a claim about the section's quantity, a column.
  `for_each: {method: [A, B]}`, or `{method: all}`, makes one claim per value: its id is `id[A]`, and `{method}` in its
  sentence is the value. `requires` may name another claim by its id.
- **Other experiments.** A claim of `kind: cited` holds if the claims that it names do, by the verdicts in their
  reports: `evidence: {xiong_fig3: [post_grows]}` reads `reports/xiong_fig3/real/data`, in the working folder or in one
  that holds the spec. The digests of these files join that of the plan, which is made anew when one changes. A report
  that is not there is missing, and the claim not testable; a spec or a claim that does not exist is refused. A section
  `causal_graph` draws edges with two claims each, which may be such; a claim of `kind: edges` in it counts those whose
  claims disagree.
- **Roles.** `source`: the cited source says it (only these can be primary, at most six); `alternative`: a competing
  reading or another source; `prediction`: our own, with its margin; `control`: what must hold for others to count. In
  a spec with a `source` a claim is its sentence where no role is given; in one without, a prediction of its author,
  which may be primary.
- **Claims** must leave one number per seed and x. Common fields: `id`, `says`, `kind`, `primary` (at most six),
  `requires` (what must hold for the claim to be testable), `source`, `published`, `role` (`source`, `alternative`,
  `prediction` or `control`), `because: {verdict: sentence}`,
  `calibration: {seeds: ...}` (pilot seeds that set a margin; they are not judged).
- **Looks.** `looks` of the spec, or of one claim, says how often the data may be looked at: once (`1`), as often as
  needed (`open`), or at declared numbers of seeds (`[5, 10, 20]`). Each look has a level of its own, and all
  together keep the probability of a wrong verdict at 5 %. Looks are counted and shown.
- **Laws.** `law: -0.5` is the value that the sentence names. The verdict then also says whether the interval holds it.
  `equals` and `exponent` name one already.
- **Margins.** `margin: source` says that the accepted range is the sentence's own; `margin: ours` is for everything
  else. Where such a range asks for an effect, by one edge that leaves `no_effect` out (1 for ratios, 0 for differences
  and exponents; elsewhere it must be given), falling short of it is `smaller`. Only the other direction contradicts, or
  an effect within `zone` of `no_effect`. Any other range of ours asks for none: outside of it the word is `beyond`,
  with its side, which is better or worse where `larger_is: better` or `worse` says so, or the words of the quantity.
- **Seeds that fail.** `about: mean | median | share` says what is judged: the mean of the seeds, their median, or
  whether more than half of them lie in the range. `share` is the default for all-or-nothing quantities, `median` for
  fractions with an accepted edge within 0.05 of 0 or 1; a `mean` of either is refused. `finish: 0.8` is the share of
  each arm's runs that must finish before trained numbers are compared.
- **Seeds of grids.** A grid in `grid_seeds` runs on the seeds that stand there, all others on `seeds`. Sections draw,
  and claims judge, each run on the seeds of its grid. A claim that reads grids with different seeds is refused, unless
  `claim_seeds` says on which it is judged, and so are two grids with a run in common and different seeds. When a run
  is evaluated tells it from no other.
- **Seeds of claims.** A claim in `claim_seeds` is judged on the seeds that stand there, all others on those of the runs
  that they read. On further seeds only the variants are run that the claim selects (of an order: those that it
  names), and those that its quantity is measured against; and only the probes are applied whose numbers it reads, with
  the evaluations of training. Nothing else reads these runs: no section, and no other claim, so that their verdicts
  stay as they were.
- **Probes of grids.** A probe with `grid` is applied to the runs of these grids alone.
- **Failures.** A seed that diverged, or whose number is not finite, ranks worst in a median and in a share of
  seeds. One that a stop rule ended early is left out of every claim that reads it after step 0, except `kind: status`,
  which counts how runs end.
- **YAML.** `1e-3` is a number; `no`, `on` and `1:30` are text. Duplicate keys, merge keys, tags, dates, directives,
  `.nan` and `.inf` are refused. At most 256 KiB, 10,000 nodes, 32 levels, 100 aliases.
"""
