// Checks at the end of a history that both APIs, the index and the quote summary hold the final
// state, and that no older version of a quote stands beside a newer one that was sent.
import { sql } from 'kysely'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { findSummaryDifferences } from '../../src/stats/summary/check-months.ts'
import { eventually } from '../support/eventually.ts'
import { findIndexDifferences } from '../support/service/index-differences.ts'
import type { Cluster } from './cluster.ts'
import type { LogEvent } from './run-transactions.ts'
import { sendRequest } from './send-request.ts'
import type { CheckContext, Workload } from './workloads/workload.ts'

/** After the last fault another indexer may have to take over the lease and rebuild the index. */
export const finalStateTimeoutMs = 60_000

/** Waits until both APIs show the final state. Returns null, or the difference after a minute. */
export async function untilFinalState(
  cluster: Cluster,
  workloads: Workload[],
  context: CheckContext,
  logEvent: LogEvent,
): Promise<string | null> {
  const difference = await eventually(
    () => findDifference(cluster, workloads, context),
    (found) => found === undefined,
    finalStateTimeoutMs,
  )
  if (difference === undefined) logEvent('both APIs show the final state')
  return difference ?? null
}

async function findDifference(
  { apis }: Cluster,
  workloads: Workload[],
  context: CheckContext,
): Promise<string | undefined> {
  const checks = apis.flatMap((api) =>
    workloads.flatMap((workload) =>
      workload.finalRequests().map(async (request) => {
        const response = await sendRequest(api, request)
        const reason = workload.checkFinalResponse(response, context)
        return reason === null ? [] : [`${api.name} ${request.path}: ${reason}`]
      }),
    ),
  )
  return (await Promise.all(checks)).flat()[0]
}

/**
 * Waits until the indexes of both engines and the summary match the tables: an API may show the
 * final state while an engine that it does not ask is still being rebuilt. Returns the differences
 * after a minute.
 */
export function untilNoDrift(cluster: Cluster): Promise<string[]> {
  return eventually(
    () => findDrift(cluster).catch((error: unknown) => [`cannot compare: ${error}`]),
    (drift) => drift.length === 0,
    finalStateTimeoutMs,
  )
}

/**
 * Compares every document and every summary row with the tables, and the versions of each quote
 * with each other. Returns the differences.
 */
async function findDrift(cluster: Cluster): Promise<string[]> {
  const db = openDatabase(cluster.databaseUrl, { connections: 2 })
  try {
    const indexDifferences: string[] = []
    for (const engine of Object.values(cluster.engines))
      indexDifferences.push(...(await findIndexDifferences(db, engine)))
    const differences = await findSummaryDifferences(db)
    return [
      ...indexDifferences,
      ...differences.map((difference) => `summary: ${difference}`),
      ...(await findUnsupersededVersions(db)),
    ]
  } finally {
    await db.destroy()
  }
}

/** Returns the older versions that are neither drafts nor superseded although a newer was sent. */
async function findUnsupersededVersions(db: Database): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select format('quotes: %s version %s is %s beside version %s, which is %s',
      older.number, older.version, older.status, newer.version, newer.status) as line
    from quotes older join quotes newer using (number)
    where newer.version > older.version and newer.status not in ('draft', 'superseded')
      and older.status not in ('draft', 'superseded')
  `.execute(db)
  return rows.map(({ line }) => line)
}
