// What was committed, and when at the earliest and the latest: the plain truth that answers are held against.

/** What a key is until something is written, and after it is deleted. */
export const absent = 'absent'

/** What a transaction makes of a key, if it is committed. Values are compared as text. */
export type Effect = { key: string; value: string }

/** `order`: among all statements by when each was over. For one key that is the order of the commits, too: its row, or its table, was locked. */
export type Written = Effect & { order: number }

/** The commit happened between these instants (milliseconds since 1970): before asking for it and after hearing of it. */
type Commit = { effects: Written[]; earliest: number; latest: number }

/** A committed state: the values of the wanted keys that were ever written. `name` is the same for the same state. */
export type State = { name: string; values: Map<string, string> }

export type Model = {
  /** Notes a committed transaction. */
  commit(effects: Written[], earliest: number, latest: number): void
  /** The values that a key can have had at some moment between these instants. */
  possible(key: string, from: number, to: number): Set<string>
  /** The states in which all keys that begin so can have been together at some moment between these instants. */
  states(prefix: string, from: number, to: number): Iterable<State>
}

export function model(): Model {
  const commits: Commit[] = []
  const writes = new Map<string, (Written & Omit<Commit, 'effects'>)[]>()

  function commit(effects: Written[], earliest: number, latest: number): void {
    commits.push({ effects, earliest, latest })
    for (const effect of effects)
      writes.set(effect.key, [...(writes.get(effect.key) ?? []), { ...effect, earliest, latest }])
  }

  function possible(key: string, from: number, to: number): Set<string> {
    const own = writes.get(key) ?? []
    const first = { value: absent, order: 0, earliest: Number.NEGATIVE_INFINITY }
    // Gone for certain: another was written after it, and surely before the window.
    const isGone = (order: number) =>
      own.some((other) => other.order > order && other.latest < from)
    return new Set(
      [first, ...own]
        .filter((write) => write.earliest <= to && !isGone(write.order))
        .map(({ value }) => value),
    )
  }

  function* states(prefix: string, from: number, to: number): Iterable<State> {
    const own = commits
      .map((commit) => ({
        ...commit,
        effects: commit.effects.filter(({ key }) => key.startsWith(prefix)),
      }))
      .filter(({ effects }) => effects.length > 0)
    const isSure = (commit: Commit) => commit.latest < from
    const sure = own.filter(
      (one) => isSure(one) || own.some((other) => isSure(other) && isBefore(one, other)),
    )
    const maybe = own.filter((one) => !sure.includes(one) && one.earliest <= to)
    const needs = maybe.map((one) =>
      own.filter((other) => other !== one && !sure.includes(other) && isBefore(other, one)),
    )

    // Every set of these commits that has with each one also those that came before it. Mostly a chain: few overlap.
    const seen = new Set<string>()
    const waiting: Commit[][] = [[]]
    for (let chosen = waiting.pop(); chosen; chosen = waiting.pop()) {
      const here = chosen
      yield stateAfter([...sure, ...here])
      for (const [place, next] of maybe.entries()) {
        if (here.includes(next) || !needs[place]?.every((needed) => here.includes(needed))) continue
        const wider = maybe.filter((one) => one === next || here.includes(one))
        const name = wider.map((one) => maybe.indexOf(one)).join()
        if (!seen.has(name)) waiting.push(wider)
        seen.add(name)
      }
    }
  }

  return { commit, possible, states }
}

/** Whether a commit surely happened before another: it was over, or it held what the other waited for. */
function isBefore(one: Commit, other: Commit): boolean {
  if (one.latest < other.earliest) return true
  return one.effects.some(({ key, order }) =>
    other.effects.some((later) => later.key === key && later.order > order),
  )
}

function stateAfter(commits: Commit[]): State {
  const last = new Map<string, Written>()
  for (const effect of commits.flatMap(({ effects }) => effects)) {
    if (effect.order > (last.get(effect.key)?.order ?? 0)) last.set(effect.key, effect)
  }
  const effects = [...last.values()].sort((a, b) => a.order - b.order)
  return {
    name: effects.map(({ order }) => order).join(),
    values: new Map(effects.map(({ key, value }) => [key, value])),
  }
}
