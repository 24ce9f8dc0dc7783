// Starts the API as a process, for tests of quote links.
import type { Test, TestDatabase } from '../database/test-database.ts'
import { buildConfig, startApi } from '../service/test-service.ts'

/** Starts the API with the log level trace and without limits for links. */
export async function startLinksApi(t: Test, { roles }: TestDatabase) {
  const config = await buildConfig({ DATABASE_URL: roles.api })
  const { url, ...program } = await startApi(t, { config }, { LOG_LEVEL: 'trace' })
  return { address: url, ...program }
}
