// What was committed, and when at the earliest and the latest: the plain truth that answers are held against.

/** What a transaction makes of a key, if it is committed. Values are compared as text. */
export type Effect = { key: string; value: string }

/** The commit happened between these instants (milliseconds since 1970): before asking for it and after hearing of it. */
type Write = { value: string; earliest: number; latest: number }

export type Model = {
  /** Notes a committed transaction. */
  commit(effects: Effect[], earliest: number, latest: number): void
  /** The values that a key can have had at some moment between these instants. */
  possible(key: string, from: number, to: number): Set<string>
  /** All that was written to the key, for showing. */
  writes(key: string): Write[]
  keys(): string[]
}

/** Keys have `initial` until something is written. */
export function model(initial: string): Model {
  const written = new Map<string, Write[]>()
  const first: Write = { value: initial, earliest: Number.NEGATIVE_INFINITY, latest: Number.NEGATIVE_INFINITY }
  const writes = (key: string) => [first, ...(written.get(key) ?? [])]
  return {
    commit(effects, earliest, latest) {
      for (const { key, value } of effects) written.set(key, [...(written.get(key) ?? []), { value, earliest, latest }])
    },
    possible(key, from, to) {
      const all = writes(key)
      // Gone for certain: another was surely written after it, and surely before the window. Where two may have been committed in either order,
      // both stay possible, so what is called wrong is wrong.
      const isGone = (write: Write) => all.some((other) => other.earliest > write.latest && other.latest < from)
      return new Set(all.filter((write) => write.earliest <= to && !isGone(write)).map(({ value }) => value))
    },
    writes,
    keys: () => [...written.keys()],
  }
}
