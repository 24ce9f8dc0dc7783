// The triggers of the tables of words: what an SQL statement may not write.
import t from 'tap'
import { testDatabase } from '../support/database/test-database.ts'

const { db } = await testDatabase(t)

t.test('an SQL statement that breaks the rules gets an error that says why', async (t) => {
  const rejected: [() => Promise<unknown>, RegExp][] = [
    [() => add({ word: ' ', synonyms: ['a1'] }), /A word for search is empty/],
    [() => add({ word: 'x'.repeat(51), synonyms: ['a1'] }), /more than 50 characters/],
    [() => add({ word: 'a b c d', synonyms: ['a1'] }), /more than 3 words/],
    [() => add({ word: 'abc', synonyms: [] }), /"abc" has 0 synonyms/],
    [() => add({ word: 'abc', synonyms: ['ABC'] }), /"abc" is a synonym of itself/],
    [() => pin({ query: '', skus: ['A'] }), /1 to 200 characters/],
    [() => pin({ query: 'abc', skus: [''] }), /does not have 1 to 100 characters/],
    [() => hide({ word: '*', hides: 'word' }), /can only hide synonyms/],
  ]
  const add = (row: { word: string; synonyms: string[] }) =>
    db.insertInto('search_synonyms').values(row).execute()
  const pin = (row: { query: string; skus: string[] }) =>
    db.insertInto('search_pins').values(row).execute()
  const hide = (row: { word: string; hides: 'word' }) =>
    db.insertInto('search_hidden_words').values(row).execute()
  for (const [write, message] of rejected) await t.rejects(write(), { message })
})
