// A slow indexer: its requests to the search engine are held back until the test releases them.
import { Meilisearch } from 'meilisearch'
import { servers } from '../../support/database/test-database.ts'
import type { TestService } from '../../support/service/test-service.ts'

type HeldClient = {
  client: Meilisearch
  /** Resolves when the first request is held back. */
  sent: Promise<void>
  release(): void
  /** Resolves when the requests are released. */
  released: Promise<void>
  /** The number of requests that are held back or not answered yet. */
  countOpen(): number
}

export async function openHeldClient({ config }: Pick<TestService, 'config'>): Promise<HeldClient> {
  const { meiliMasterKey } = await servers()
  const sent = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let openRequests = 0
  const heldFetch = async (input: string | URL | Request, init?: RequestInit) => {
    openRequests++
    sent.resolve()
    try {
      await gate.promise
      return (await (await fetch(input, init)).json()) as unknown
    } finally {
      openRequests--
    }
  }
  const client = new Meilisearch({
    host: config.MEILI_URL,
    apiKey: meiliMasterKey,
    httpClient: heldFetch as never,
  })
  return {
    client,
    sent: sent.promise,
    release: gate.resolve,
    released: gate.promise,
    countOpen: () => openRequests,
  }
}
