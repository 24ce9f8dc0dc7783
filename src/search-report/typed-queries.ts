// Follows what callers type, and keeps the last text of each query without the keystrokes before
// it. Called for every search, so it only remembers: nothing here waits, hashes or writes.

/** A query that its caller has not changed for some time. */
export type SettledQuery = { caller: string; text: string; hasHits: boolean }

type Run = { text: string; hasHits: boolean; changedAt: number }

/** Callers beyond these are not counted: a sample suffices, and memory stays bounded. */
const maxCallers = 2_000
/** Several people may search with one key. */
const maxRunsPerCaller = 8
/** A longer text is pasted and not typed. In UTF-16 code units. */
const maxTextLength = 60
/** Texts that begin with as many equal letters, and half of the shorter one, are one query. */
const minCommonLetters = 3
/** How many calls of `takeSettled` a query must outlast. */
const settlingTicks = 3

export class TypedQueries {
  readonly #runs = new Map<string, Run[]>()
  #tick = 0

  /** Remembers a search. `caller` is the id of a secret key or an address. */
  record(caller: string, text: string, hasHits: boolean): void {
    if (text.length === 0 || text.length > maxTextLength) return
    const runs = this.#runs.get(caller)
    if (runs === undefined) {
      if (this.#runs.size < maxCallers)
        this.#runs.set(caller, [{ text, hasHits, changedAt: this.#tick }])
      return
    }
    for (const run of runs) {
      if (!isContinued(run.text, text)) continue
      run.text = text
      run.hasHits = hasHits
      run.changedAt = this.#tick
      return
    }
    // A caller who types more texts at once is a program. Its oldest text is not counted.
    if (runs.length >= maxRunsPerCaller) runs.shift()
    runs.push({ text, hasHits, changedAt: this.#tick })
  }

  /** Call it once a second. Returns the queries that did not change during the last calls. */
  takeSettled(): SettledQuery[] {
    this.#tick += 1
    return this.#take(({ changedAt }) => this.#tick - changedAt > settlingTicks)
  }

  /** Returns all queries, when the process ends. */
  takeAll(): SettledQuery[] {
    return this.#take(() => true)
  }

  #take(isSettled: (run: Run) => boolean): SettledQuery[] {
    const settled: SettledQuery[] = []
    for (const [caller, runs] of this.#runs) {
      const open = runs.filter((run) => !isSettled(run))
      for (const run of runs)
        if (isSettled(run)) settled.push({ caller, text: run.text, hasHits: run.hasHits })
      if (open.length === 0) this.#runs.delete(caller)
      else if (open.length < runs.length) this.#runs.set(caller, open)
    }
    return settled
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
