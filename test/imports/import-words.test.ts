// scripts/import.ts with files of words: synonyms, pins and hidden words.
import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { type FileImport, importFile } from '../../scripts/cli/import-file.ts'
import { openPool } from '../../src/database/postgres-pool.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const database = await testDatabase(t)
const importer = openPool(database.roles.importer, { connections: 2 })
t.teardown(() => importer.end())

type Kind = FileImport['kind']

/** Imports with the rights of the importer. */
function importText(kind: Kind, text: string | Buffer, more: Partial<FileImport> = {}) {
  return importFile(importer, {
    kind,
    file: '-',
    standardInput: Readable.from([Buffer.from(text)]),
    signal: new AbortController().signal,
    ...more,
  })
}

const readSynonyms = ({ db }: TestDatabase) =>
  db.selectFrom('search_synonyms').selectAll().orderBy('word').execute()
const readVersion = async ({ db }: TestDatabase) =>
  (await db.selectFrom('search_words_version').select('version').executeTakeFirstOrThrow()).version

t.test('imports synonyms, changes and deletes them', async (t) => {
  const first = await importText(
    'synonyms',
    'word,synonyms,two_way\n' +
      ' Zapatilla  Alta ,"Bamba | deportiva|| bamba",\nllave,spanner,NO\ntubo,caño,sí\n',
  )
  t.match(first, { status: 0, text: /synonyms: 3 inserted, 0 updated, 0 unchanged, 0 deleted\./ })
  t.strictSame(await readSynonyms(database), [
    { word: 'llave', synonyms: ['spanner'], two_way: false },
    { word: 'tubo', synonyms: ['caño'], two_way: true },
    { word: 'zapatilla alta', synonyms: ['bamba', 'deportiva'], two_way: true },
  ])
  const version = await readVersion(database)
  const again = await importText('synonyms', 'word,synonyms\nTUBO,caño\nllave,spanner|wrench\n')
  t.match(again.text, /0 inserted, 1 updated, 1 unchanged, 0 deleted/)
  t.not(await readVersion(database), version, 'a change gives the words another version')
  t.match((await readSynonyms(database))[0], { two_way: false }, 'absent columns stay')
  const full = await importText('synonyms', 'word,synonyms\ntubo,caño\n', {
    options: { isFull: true },
  })
  t.match(full.text, /0 inserted, 0 updated, 1 unchanged, 2 deleted/)
})

t.test('reads files of Spanish Excel', async (t) => {
  const text = 'word;synonyms;two_way\r\ncañón;señal | tubo;sí\r\n'
  await importText('synonyms', Buffer.from(text, 'latin1'), {
    options: { isFull: true },
  })
  t.strictSame(await readSynonyms(database), [
    { word: 'cañón', synonyms: ['señal', 'tubo'], two_way: true },
  ])
})

t.test('names each invalid row, and writes it to the file of rejected rows', async (t) => {
  const long = 'x'.repeat(51)
  const invalid: [row: string, reason: RegExp][] = [
    [',a1b', /line 3: word: is missing/],
    ['abc,', /line 4: synonyms: is missing/],
    ['same,other | SAMÉ', /line 5: synonyms: "samé" is the word itself/],
    ['comma,"drill, bit",', /line 6: synonyms: "drill, bit" has a comma/],
    [`${long},a1b`, /line 7: word: "x+" has more than 50 characters/],
    ['one two three four,a1b', /line 8: word: .* has more than 3 words/],
    ['de la,a1b', /line 9: word: "de la" is a word such as "de"/],
    ['a,a1b', /line 10: word: "a" needs at least two letters/],
    ['2024,a1b', /line 11: word: "2024" is a number/],
    ['12 v,a1b', /line 12: word: "12 v" is a size/],
    [`many,${Array.from({ length: 21 }, (_, n) => `w${n}x`).join('|')}`, /line 13: .*21 synonyms/],
    ['twice,a1b', /line 14: word: is also on line 15/],
    ['TWICE,a2b', /line 15: word: is also on line 14/],
    ['cells,a,b,c', /line 16: has 4 cells/],
    ['maybe,a1b,perhaps', /line 17: two_way: "perhaps" is not one of true/],
  ]
  const rows = invalid.map(([row]) =>
    row.split(',').length === 2 && !row.includes('"') ? `${row},` : row,
  )
  const text = `word,synonyms,two_way\ngood,fine,\n${rows.join('\n')}\n`
  const { message } = (await importText('synonyms', text).catch((error: Error) => error)) as Error
  t.match(message, /^standard input: 15 rows are invalid, so nothing was imported:/)
  for (const [row, reason] of invalid) t.match(message, reason, row)

  const rejectsName = join(tmpdir(), `rejected-words-${process.pid}.csv`)
  t.teardown(() => rm(rejectsName, { force: true }))
  const result = await importText('synonyms', text, { rejectsName })
  t.match(result, { status: 4, text: /15 rejected.*\n.*1 inserted/ })
  const rejected = await readFile(rejectsName, 'utf8')
  t.match(rejected, /^line,reason,word,synonyms,two_way\n/)
  t.match(rejected, /\n6,"synonyms: ""drill, bit"" has a comma.*,comma,"drill, bit",\n/)
})

t.test('--full deletes nothing if the word of a rejected row is unknown', async (t) => {
  const full = { options: { isFull: true } }
  await importText('synonyms', 'word,synonyms\ntubo,caño\nllave,spanner\n', full)
  const before = await readSynonyms(database)
  const rejectsName = join(createTemporaryDirectory(t, 'words'), 'rejects.csv')
  const file = 'synonyms,word\ncaño, tubería,tubo\nspanner,llave\n'
  await t.rejects(importText('synonyms', file, { ...full, rejectsName }), {
    message: /The word of an invalid row is unknown, .*\n {2}line 2: has 3 cells.*\nCorrect/,
  })
  t.same(await readSynonyms(database), before)
})

t.test('imports pins and warns about SKUs that no active product has', async (t) => {
  const { db } = database
  await db.insertInto('products').values({ sku: 'A,1|', name: 'A' }).execute()
  await db.insertInto('products').values({ sku: 'B 2', name: 'B' }).execute()
  await db.insertInto('products').values({ sku: 'OLD', name: 'C', active: false }).execute()
  const result = await importText('pins', 'query,skus\nTaladro  18 V,b-2|OLD|NONE\n')
  t.match(result, {
    status: 3,
    text: /1 inserted.*\nwarning: 2 pinned SKUs that no active product has.*\n +OLD, pinned/,
  })
  t.strictSame(await db.selectFrom('search_pins').selectAll().execute(), [
    { query: 'taladro 18 v', skus: ['b-2', 'OLD', 'NONE'] },
  ])
  await t.rejects(importText('pins', 'query,skus\nx,NONE\n', { options: { isStrict: true } }), {
    message: /--strict/,
  })
  await t.rejects(importText('pins', 'query,skus\n¿?,NONE\n'), {
    message: /line 2: query: "¿\?" needs at least one letter or digit/,
  })
})

t.test('imports hidden words', async (t) => {
  await importText('hidden-words', 'word,hides\nRadial,\nPrecio,WORD\n*,synonyms\n')
  t.strictSame(
    await database.db.selectFrom('search_hidden_words').selectAll().orderBy('word').execute(),
    [
      { word: '*', hides: 'synonyms' },
      { word: 'precio', hides: 'word' },
      { word: 'radial', hides: 'synonyms' },
    ],
  )
  await t.rejects(importText('hidden-words', 'word,hides\n*,word\nx1,all\n'), {
    message:
      /line 2: hides: the word \* stands for all[^\n]*\n +line 3: hides: "all" is not one of/,
  })
})

t.test('a full file without rows deletes nothing, and the error says how to do it', async (t) => {
  const { db } = database
  const options = { isFull: true }
  const files = { synonyms: 'word,synonyms\n', pins: 'query,skus\n', 'hidden-words': 'word\n' }
  const tables = {
    synonyms: 'search_synonyms',
    pins: 'search_pins',
    'hidden-words': 'search_hidden_words',
  } as const
  await importText('synonyms', 'word,synonyms\ntubo,caño\n')
  await importText('pins', 'query,skus\ntubo,B 2\n')
  await importText('hidden-words', 'word\nradial\n')
  for (const kind of ['synonyms', 'pins', 'hidden-words'] as const) {
    const table = tables[kind]
    const before = await db.selectFrom(table).selectAll().execute()
    t.ok(before.length > 0)
    await t.rejects(importText(kind, files[kind], { options }), {
      message: new RegExp(
        `has no valid rows, and --full would delete ${before.length} rows? of ${table}.*` +
          `Nothing was deleted.*: delete from ${table};`,
      ),
    })
    t.same(await db.selectFrom(table).selectAll().execute(), before)
    const rejectsName = join(tmpdir(), `rejected-${kind}-${process.pid}.csv`)
    t.teardown(() => rm(rejectsName, { force: true }))
    await t.rejects(
      importText(kind, `${files[kind]}too,many,cells\n`, { rejectsName, options }),
      { message: /has no valid rows.*Nothing was deleted\.\n {2}line 2: has 3 cells/ },
      'nor does one with invalid rows only, and the error names them',
    )
    t.same(await db.selectFrom(table).selectAll().execute(), before)
    await db.deleteFrom(table).execute()
    const { status, text } = await importText(kind, files[kind], { options })
    t.equal(status, 0, 'an empty list stays empty')
    t.match(text, /0 deleted\.\n.*no rows: nothing to import/)
  }
})

t.test('imports the words of all further languages together', async (t) => {
  const folder = new URL('../../src/words/more-languages/', import.meta.url)
  for (const name of await readdir(folder)) {
    const result = await importText('synonyms', await readFile(new URL(name, folder)))
    t.match(result, { status: 0, text: /4\d rows read, 0 rejected/ }, name)
  }
})

t.test('limits the number of words', async (t) => {
  const rows = (count: number, synonyms: string) =>
    `word,synonyms\n${Array.from({ length: count }, (_, n) => `w${n}x,${synonyms}`).join('\n')}\n`
  await t.rejects(importText('synonyms', rows(1_001, 'one'), { options: { isFull: true } }), {
    message: /search_synonyms has 1001 rows: at most 1000 are allowed\. Nothing was imported/,
  })
  const many = Array.from({ length: 20 }, (_, n) => `s${n}x`).join('|')
  await t.rejects(importText('synonyms', rows(12, many), { options: { isFull: true } }), {
    message: /makes 5040 pairs of words: at most 5000/,
  })
})
