// Follows what callers type, and keeps the last text of each query without the keystrokes before
// it. Called for every search, so it only remembers: nothing here waits, hashes or writes.

/** `caller` is the id of a secret key, or an address as limits count it. */
export type TypedQuery = { caller: string; text: string; hasHits: boolean }

/** Callers beyond these are not counted: a sample suffices, and memory stays bounded. */
const maxCallers = 2_000
/** Several people may search with one key. More texts at once are of a program. */
const maxQueriesPerCaller = 8
/** A longer text is pasted and not typed. In UTF-16 code units. */
const maxTextLength = 60
/** Texts that begin with as many equal letters, and half of the shorter one, are one query. */
const minCommonLetters = 3

export class TypedQueries {
  #byCaller = new Map<string, (TypedQuery & { period: number })[]>()
  #period = 0

  /** Remembers a search, and forgets those of the same caller that it continues. */
  record(query: TypedQuery): void {
    const { caller, text } = query
    if (text.length === 0 || text.length > maxTextLength) return
    const earlier = this.#byCaller.get(caller) ?? []
    if (earlier.length === 0 && this.#byCaller.size >= maxCallers) return
    const others = earlier.filter((other) => !isContinued(other.text, text))
    const queries = [...others, { ...query, period: this.#period }]
    this.#byCaller.set(caller, queries.slice(-maxQueriesPerCaller))
  }

  /** Begins a period. Returns the queries that were not changed in the one that ends. */
  takeSettled(): TypedQuery[] {
    this.#period += 1
    return this.#take(({ period }) => period < this.#period - 1)
  }

  /** Returns all queries, when the process ends. */
  takeAll(): TypedQuery[] {
    return this.#take(() => true)
  }

  #take(isTaken: (query: { period: number }) => boolean): TypedQuery[] {
    const queries = [...this.#byCaller.values()].flat()
    const open = queries.filter((query) => !isTaken(query))
    this.#byCaller = Map.groupBy(open, ({ caller }) => caller)
    return queries.filter(isTaken).map(({ period: _, ...query }) => query)
  }
}

/** Whether somebody who typed `before` may have changed it to `text`. */
function isContinued(before: string, text: string): boolean {
  if (text.startsWith(before) || before.startsWith(text)) return true
  const shorter = Math.min(before.length, text.length)
  let common = 0
  while (common < shorter && before.charCodeAt(common) === text.charCodeAt(common)) common += 1
  return common >= minCommonLetters && common * 2 >= shorter
}
