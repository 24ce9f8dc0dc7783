// The oracle: which transactions were committed and when, and so which states a response may show.

/** The value of a key before the first write and after a deletion. */
export const absent = 'absent'

/** What a transaction writes to a key if it is committed. Values are compared as text. */
export type Effect = { key: string; value: string }

/**
 * `order`: the position of the statement among all statements, by when each ended. For one key it
 * is also the order of the commits, because the statement locked the row or the table.
 */
export type OrderedEffect = Effect & { order: number }

/** The commit happened between two instants (milliseconds since 1970). */
type Commit = {
  effects: OrderedEffect[]
  /** Before the commit was requested. */
  earliest: number
  /** After it was confirmed. */
  latest: number
}

/** A committed state: a value for each selected key that was ever written. */
export type State = {
  /** Identical for identical states. */
  name: string
  values: Map<string, string>
}

export type CommittedStates = {
  recordCommit(effects: OrderedEffect[], earliest: number, latest: number): void
  /** Returns the value of every key that was ever written, as of the newest commit. */
  currentValues(): Map<string, string>
  /** The values that a key can have had at some moment between two instants. */
  possibleValues(key: string, from: number, to: number): Set<string>
  /** The states that all keys with this prefix can have had between two instants. */
  possibleStates(prefix: string, from: number, to: number): Iterable<State>
}

export function committedStates(): CommittedStates {
  const commits: Commit[] = []
  const writes = new Map<string, (OrderedEffect & Omit<Commit, 'effects'>)[]>()
  return {
    recordCommit(effects, earliest, latest) {
      commits.push({ effects, earliest, latest })
      for (const effect of effects)
        writes.set(effect.key, [...(writes.get(effect.key) ?? []), { ...effect, earliest, latest }])
    },
    currentValues: () => stateAfter(commits).values,
    possibleValues(key, from, to) {
      const writesOfKey = writes.get(key) ?? []
      const initial = { value: absent, order: 0, earliest: Number.NEGATIVE_INFINITY }
      const isOverwritten = (order: number) =>
        writesOfKey.some((other) => other.order > order && other.latest < from)
      return new Set(
        [initial, ...writesOfKey]
          .filter((write) => write.earliest <= to && !isOverwritten(write.order))
          .map(({ value }) => value),
      )
    },
    possibleStates(prefix, from, to) {
      return enumerateStates(withPrefix(commits, prefix), from, to)
    },
  }
}

function withPrefix(commits: Commit[], prefix: string): Commit[] {
  return commits
    .map((commit) => ({
      ...commit,
      effects: commit.effects.filter(({ key }) => key.startsWith(prefix)),
    }))
    .filter(({ effects }) => effects.length > 0)
}

/** One state for each set of uncertain commits that contains every predecessor of its members. */
function* enumerateStates(commits: Commit[], from: number, to: number): Iterable<State> {
  const endedBefore = (commit: Commit) => commit.latest < from
  const certain = commits.filter(
    (commit) =>
      endedBefore(commit) || commits.some((other) => endedBefore(other) && precedes(commit, other)),
  )
  const uncertain = commits.filter((commit) => !certain.includes(commit) && commit.earliest <= to)
  const predecessors = uncertain.map((commit) =>
    commits.filter(
      (other) => other !== commit && !certain.includes(other) && precedes(other, commit),
    ),
  )

  // Few commits overlap, so the sets mostly form a chain.
  const visited = new Set<string>()
  const queue: Commit[][] = [[]]
  for (let chosen = queue.pop(); chosen; chosen = queue.pop()) {
    const current = chosen
    yield stateAfter([...certain, ...current])
    for (const [index, next] of uncertain.entries()) {
      if (current.includes(next)) continue
      if (!predecessors[index]?.every((predecessor) => current.includes(predecessor))) continue
      const extended = uncertain.filter((commit) => commit === next || current.includes(commit))
      const name = extended.map((commit) => uncertain.indexOf(commit)).join()
      if (!visited.has(name)) queue.push(extended)
      visited.add(name)
    }
  }
}

/** Whether a commit certainly happened before another: it ended first, or it held a lock. */
function precedes(commit: Commit, other: Commit): boolean {
  if (commit.latest < other.earliest) return true
  return commit.effects.some(({ key, order }) =>
    other.effects.some((later) => later.key === key && later.order > order),
  )
}

function stateAfter(commits: Commit[]): State {
  const lastByKey = new Map<string, OrderedEffect>()
  for (const effect of commits.flatMap(({ effects }) => effects)) {
    if (effect.order > (lastByKey.get(effect.key)?.order ?? 0)) lastByKey.set(effect.key, effect)
  }
  const effects = [...lastByKey.values()].sort((a, b) => a.order - b.order)
  return {
    name: effects.map(({ order }) => order).join(),
    values: new Map(effects.map(({ key, value }) => [key, value])),
  }
}
