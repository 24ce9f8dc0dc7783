// Samples response times with few requests, so that its own work does not delay what it measures.
import { Agent, request } from 'node:http'

export type Sample = { status: number; ms: number }
export type Sampler = {
  /** Discards the samples so far. */
  reset(): void
  /** Stops and returns the samples. Status 0 means that no response arrived. */
  stop(): Promise<Sample[]>
}

/**
 * Requests the paths in turn, `perSecond` times a second, whether or not responses have arrived.
 */
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
  let sent = 0

  function sendRequest(): Promise<void> {
    const target = samples
    const startedAt = performance.now()
    return new Promise((resolve) => {
      const finish = (status: number) => {
        target.push({ status, ms: performance.now() - startedAt })
        resolve()
      }
      request(`${url}${paths[sent++ % paths.length]}`, { agent, headers }, (response) => {
        response.resume()
        response.once('end', () => finish(response.statusCode ?? 0))
      })
        .once('error', () => finish(0))
        .end()
    })
  }

  const timer = setInterval(() => {
    const request = sendRequest().finally(() => pending.delete(request))
    pending.add(request)
  }, 1_000 / perSecond)

  return {
    reset() {
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
