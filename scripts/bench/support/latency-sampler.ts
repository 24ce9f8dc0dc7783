// A client that asks now and then, so lightly that its own work does not delay what it measures.
import { Agent, request } from 'node:http'

export type Sample = { status: number; ms: number }
export type Sampler = {
  /** Begins anew. */
  forget(): void
  /** Ends it, and answers with what was seen since. A status of 0 is no answer. */
  stop(): Promise<Sample[]>
}

/** Asks `perSecond` times a second, whether or not the answers before have come, for one path after the other. */
export function sample(
  url: string,
  paths: string[],
  authorization: string,
  perSecond = 50,
): Sampler {
  const agent = new Agent({ keepAlive: true })
  const headers = { accept: 'application/json', ...(authorization !== '' && { authorization }) }
  const pending = new Set<Promise<void>>()
  let samples: Sample[] = []
  let turn = 0

  function ask(): Promise<void> {
    const into = samples
    const startedAt = performance.now()
    return new Promise((resolve) => {
      const finish = (status: number) => {
        into.push({ status, ms: performance.now() - startedAt })
        resolve()
      }
      request(`${url}${paths[turn++ % paths.length]}`, { agent, headers }, (answer) => {
        answer.resume()
        answer.once('end', () => finish(answer.statusCode ?? 0))
      })
        .once('error', () => finish(0))
        .end()
    })
  }

  const timer = setInterval(() => {
    const asking = ask().finally(() => pending.delete(asking))
    pending.add(asking)
  }, 1_000 / perSecond)

  return {
    forget() {
      samples = []
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
      agent.destroy()
      return samples
    },
  }
}
