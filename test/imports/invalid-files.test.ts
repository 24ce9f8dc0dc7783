// Each of forty invalid files gets one clear error, and leaves the database unchanged.
import t from 'tap'
import { testDatabase } from '../support/test-database.ts'
import { invalidProductFiles } from './invalid-files.ts'
import { readImportError } from './product-files.ts'

const database = await testDatabase(t)
const maxMessageLength = 2_000

t.test('each invalid file gets one clear error', async (t) => {
  t.equal(Object.keys(invalidProductFiles).length, 40)
  for (const [name, { content, message }] of Object.entries(invalidProductFiles)) {
    const error = await readImportError(t, database, content)
    t.match(error, message, `a file that ${name}`)
    t.ok(error.length < maxMessageLength, `the error of a file that ${name} is short`)
  }
})
