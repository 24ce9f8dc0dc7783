// Refusing work before it drowns the process: what is refused at once costs little, and the rest is answered as fast as ever.
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { Problem, prepareProblem } from '../problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Refused only at so many times the delay at which other paths are. */
    patience?: number
  }
}

const sampleEveryMs = 500

/**
 * Refuses requests while the event loop is late by more than `maxDelayMs` on average of half a second: the more, the later it is, so that what is
 * left fits again. 0: never.
 */
export async function shedLoad(app: FastifyInstance, { maxDelayMs }: { maxDelayMs: number }): Promise<void> {
  if (maxDelayMs === 0) return
  await app.register(underPressure, {
    maxEventLoopDelay: maxDelayMs,
    sampleInterval: sampleEveryMs,
    pressureHandler: (request, reply, _type, value = Number.POSITIVE_INFINITY) => {
      const limit = maxDelayMs * (request.routeOptions.config.patience ?? 1)
      if (Math.random() < limit / value) return
      // What is returned is sent as the answer, which the types of the plugin do not say.
      return prepareProblem(request, reply, overloaded) as unknown as undefined
    },
  })
}

export type Crowd = {
  /** Does the work, at once or after a short wait, or throws a 503 when there is no room for it. */
  enter<Result>(work: () => Promise<Result>): Promise<Result>
}

type Waiter = { admit(): void; refuse(): void }

/**
 * Room for `max` requests at a time in front of something slower than this process, such as the search engine, so that it is never asked more than it
 * can do. As many again may wait, at most `patienceMs`, which a burst needs. The newest of them goes first: under more load than can be answered the
 * oldest have waited too long already, and first come, first served would make everybody wait as long as they.
 */
export function crowd(max: number, patienceMs: number): Crowd {
  let inside = 0
  const waiting: Waiter[] = []

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
        refuse() {
          clearTimeout(timer)
          reject(overloaded)
        },
      }
      waiting.push(waiter)
      if (waiting.length > max) waiting.shift()?.refuse()
    })
  }

  return {
    async enter(work) {
      if (inside < max) inside += 1
      else await wait()
      try {
        return await work()
      } finally {
        // The place goes to who waits, without being free in between.
        const next = waiting.pop()
        if (next) next.admit()
        else inside -= 1
      }
    },
  }
}

/** One for all: to make an error costs more than the rest of refusing. */
const overloaded = new Problem('unavailable', 'There is more to do at the moment than the service can. Try again in a moment.', {
  headers: { 'retry-after': '1' },
  expected: true,
})
