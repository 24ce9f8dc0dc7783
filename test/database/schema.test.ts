// schema.sql is the schema that the migrations make.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeSchema } from '../../scripts/schema/describe-schema.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { emptyDatabase } from '../support/test-service.ts'

const file = join(import.meta.dirname, '../../src/database/schema.sql')

t.test('schema.sql shows the schema that the migrations make', async (t) => {
  const db = openDatabase(await emptyDatabase(t), { connections: 2 })
  t.teardown(() => db.destroy())
  await migrate(db)
  const expected = await describeSchema(db)
  t.equal(
    readFileSync(file, 'utf8'),
    expected,
    'if this fails, run `node scripts/schema.ts` and commit src/database/schema.sql',
  )
})
