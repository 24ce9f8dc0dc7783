// Starts the API as a process, for tests of quote links.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deriveSearchKey } from '../../../src/indexing/keys.ts'
import { writeCompanyFile } from '../database/company.ts'
import { servers, type TestDatabase } from '../database/test-database.ts'
import { eventually } from '../eventually.ts'
import { startProgram } from '../run-program.ts'
import { chooseFixedPort } from '../servers/fixed-port.ts'

type Test = Parameters<typeof startProgram>[0]

/** Starts the API with the log level trace and without limits for links. */
export async function startLinksApi(t: Test, { roles }: TestDatabase) {
  const { redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const directory = await mkdtemp(join(tmpdir(), 'tqs-links-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const port = await chooseFixedPort()
  const program = startProgram(t, ['src/server.ts'], {
    API_DATABASE_URL: roles.api,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test:${port}:`,
    MEILI_URL: meiliUrls[0],
    MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey),
    COMPANY_FILE: writeCompanyFile(directory),
    PORT: String(port),
    OPS_PORT: '0',
    LINK_LIMIT_PER_MINUTE: '1000000',
    LINK_GUESS_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'trace',
  })
  const address = `http://127.0.0.1:${port}`
  const requestStatus = () =>
    fetch(`${address}/quote/share/x`).then(
      ({ status }) => status,
      () => 0,
    )
  if ((await eventually(requestStatus, (status) => status === 404)) !== 404)
    throw new Error(program.output())
  return { address, ...program }
}
