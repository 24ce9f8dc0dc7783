// Polls the data version, so that a recent one is always known. The API processes that share Redis
// read it in turn.
import type { Kysely } from 'kysely'
import { readDatabaseId, readTimeline } from '../../database/database-identity.ts'
import type { PrimaryHistory } from '../../database/replica/primary-history.ts'
import type { Tables } from '../../database/table-types.ts'
import { Poller } from '../../redis/poller.ts'
import type { SharedPolling } from '../../redis/shared-polling.ts'
import { type DataVersion, readVersion } from '../summary/data-version.ts'
import {
  formatVersion,
  type ObservedVersion,
  parseVersion,
  scopeOf,
} from './shared-data-version.ts'

// Cached statistics are at most this old while the data is unchanged.
const dataVersionPollMs = 200
// Processes use a shared version for 0.4 s, and the next one arrives sooner.
const redisVersionPollMs = 100

export type DataVersionPoller = Poller<ObservedVersion>

/** Returns a poller that adds each version to `history`, whichever process has read it. */
export function createDataVersionPoller(
  db: Kysely<Tables>,
  sharing: Pick<SharedPolling, 'poll'>,
  history: PrimaryHistory | null = null,
): DataVersionPoller {
  return new Poller<ObservedVersion>({
    sharing,
    read: (readAt, previous) => readObservedVersion(db, readAt, previous),
    scopeOf,
    format: formatVersion,
    parse: parseVersion,
    onNewer({ databaseId, version, readAt, timeline, walPosition }) {
      if (timeline !== null)
        history?.add({ databaseId, version, readAt, timeline, position: walPosition })
    },
    // A replica is compared with recent states of the primary, so polling must not pause while
    // there are no requests.
    mayIdle: history === null,
    pauses: { aloneMs: dataVersionPollMs, sharedMs: redisVersionPollMs },
  })
}

async function readObservedVersion(
  db: Kysely<Tables>,
  readAt: number,
  previous: ObservedVersion | null,
): Promise<ObservedVersion> {
  const { version, walPosition } = await readVersion(db)
  // A failover between these reads does no harm: the next poll finds another generation, so what
  // was computed for this one is computed again.
  const timeline = await timelineOf(db, version, previous)
  const databaseId = await databaseIdOf(db, version, previous)
  return { version, databaseId, readAt, timeline, walPosition }
}

/**
 * Returns the timeline of the primary. It is read again if the generation changed, as it does after
 * a failover, or if the server was in recovery.
 */
async function timelineOf(
  db: Kysely<Tables>,
  { generation }: DataVersion,
  previous: ObservedVersion | null,
): Promise<number | null> {
  const known = previous?.version.generation === generation ? previous.timeline : null
  return known ?? readTimeline(db)
}

/**
 * Returns the id of the database. It is read again only if the generation changed: another database
 * has another generation. For a role that may not read the id, the generation stands in for it. The
 * generation is unique too, but changes more often, so statistics in Redis do not survive a restart
 * of PostgreSQL.
 */
async function databaseIdOf(
  db: Kysely<Tables>,
  { generation }: DataVersion,
  previous: ObservedVersion | null,
): Promise<string> {
  if (previous?.version.generation === generation) return previous.databaseId
  return (await readDatabaseId(db)) ?? generation
}
