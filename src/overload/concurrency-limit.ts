// Room for so many at a time in front of something slower than this process, such as the search engine, so that it is never asked more than it can do.
import { fitting } from './adaptive-limit.ts'
import { overloaded } from './load-shedding.ts'

export type Crowd = {
  /** Whether one more would be let in, at once or after a short wait. */
  hasRoom(): boolean
  /** Does the work, at once or after a short wait, or throws a 503 when there is no room for it. */
  enter<Result>(work: () => Promise<Result>): Promise<Result>
}

export type CrowdOptions = {
  /** At a time, by what is found to fit: never less or more than this, and at first so many. */
  atOnce: { least: number; most: number; first: number }
  /** So many more may wait: a burst needs it. */
  burst: number
  /** And no longer than this. */
  patienceMs: number
}

type Waiter = { admit(): void }

/** So many wait, for no longer than it takes to be their turn, while there is more to do than can be done: no place is ever free for want of one. */
const queueInOverload = 4
/** How long a refusal is a sign of more than a burst. */
const refusalIsFreshMs = 100

/**
 * First come, first served. Once somebody had to be refused a long queue would only make everybody late who is answered, so that it is kept short
 * until nobody had to be refused for a moment.
 */
export function crowd({ atOnce, burst, patienceMs }: CrowdOptions): Crowd {
  const fit = fitting(atOnce)
  let inside = 0
  let refusedAt = Number.NEGATIVE_INFINITY
  const waiting: Waiter[] = []

  function hasRoom(): boolean {
    if (inside < fit.limit()) return true
    const now = performance.now()
    if (waiting.length < (now - refusedAt < refusalIsFreshMs ? queueInOverload : burst)) return true
    refusedAt = now
    return false
  }

  function wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1)
        reject(overloaded)
      }, patienceMs)
      const waiter: Waiter = {
        admit() {
          clearTimeout(timer)
          resolve()
        },
      }
      waiting.push(waiter)
    })
  }

  return {
    hasRoom,
    async enter(work) {
      if (inside < fit.limit()) inside += 1
      else if (hasRoom()) await wait()
      else throw overloaded
      const [startedAt, others] = [performance.now(), inside]
      try {
        return await work()
      } finally {
        fit.took(performance.now() - startedAt, others)
        // The place goes to who waits, without being free in between.
        const next = inside <= fit.limit() ? waiting.shift() : undefined
        if (next) next.admit()
        else inside -= 1
      }
    },
  }
}
