// schema.sql is the schema that the migrations make, and docs/statistics.md agrees with it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeSchema } from '../../scripts/schema/describe-schema.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { emptyDatabase } from '../support/database/test-database.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'src/database/schema.sql')

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

t.test('docs/statistics.md lists the functions and views that name a figure', async (t) => {
  const objects = readFileSync(file, 'utf8').split(/\n(?=create (?:function|view|table|type) )/)
  const naming = objects.flatMap((text) => {
    const [, name] = /^create (?:function|view) (\w+)/.exec(text) ?? []
    return name && /\bdecision_histogram\b/.test(text) ? [name] : []
  })
  const page = readFileSync(join(root, 'docs/statistics.md'), 'utf8')
  const [, listed = ''] = /^\| a figure of a quote \|[^|]*\|(.*)\|$/m.exec(page) ?? []
  const names = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  t.same(names.toSorted(), naming.toSorted())
})
