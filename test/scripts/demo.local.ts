// Starts, uses, stops, restarts and kills the demo, and compares its statistics with a computation
// from the raw file.
// Slow: it loads the data of the demo.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { DemoFile } from '../../scripts/demo/keys-and-link.ts'
import { eventually } from '../support/eventually.ts'
import { type RunningProgram, startProgram } from '../support/run-program.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

/** Returns the pid of the child whose command line names the script. */
async function findChild(parent: number, script: string): Promise<number | undefined> {
  for (const child of await childrenOf(parent)) {
    // A child may have ended meanwhile.
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(script)) return child
  }
  return undefined
}

/** Returns the pids of what the main thread of a process has started. Throws if it has ended. */
async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').filter(Boolean).map(Number)
}

type Stats = {
  quotes: { total: number; byStatus: { accepted: number; rejected: number } }
  revenue: { total: { amount: string; currency: string } }
  byMonth: { month: string; quotes: number; accepted: number; revenue: { amount: string } }[]
  byCountry: {
    country: string | null
    quotes: number
    accepted: number
    revenue: { amount: string }
  }[]
}

t.setTimeout(280_000)

t.test('explains a DATABASE_URL that is left over from a stopped demo', async (t) => {
  const directory = createTemporaryDirectory(t, 'demo')
  const [port, closed] = [await chooseFixedPort(), await chooseFixedPort()]
  const env = {
    DATA_DIR: directory,
    PORT: String(port),
    DATABASE_URL: `postgres://quotes:secret@127.0.0.1:${closed}/trade_quotes`,
  }
  const program = startProgram(t, ['scripts/demo.ts'], env)
  t.equal(await program.exit, 1)
  t.match(
    program.output(),
    `connect ECONNREFUSED 127.0.0.1:${closed}. To start one, run \`unset DATABASE_URL\` first.`,
  )
  t.notMatch(program.output(), 'secret')
})

t.test('the demo', async (t) => {
  const directory = createTemporaryDirectory(t, 'demo')
  const env = { DATA_DIR: directory, PORT: String(await chooseFixedPort()) }

  const ready = async (program: RunningProgram): Promise<DemoFile> => {
    await eventually(
      async () => program.output(),
      (output) => /^Ctrl\+C stops everything\.$/m.test(output) || /stopping/.test(output),
      240_000,
    )
    if (/stopping/.test(program.output())) throw new Error(program.output())
    return JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8')) as DemoFile
  }
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers })
    return { status: response.status, text: await response.text() }
  }
  /** Starts the demo and stops it when it prints this text. */
  const interruptAt = async (text: string) => {
    const program = startProgram(t, ['scripts/demo.ts'], env)
    await eventually(
      async () => program.output(),
      (output) => output.includes(text) || program.child.exitCode !== null,
      240_000,
    )
    program.child.kill('SIGINT')
    t.equal(await program.exit, 0, program.output())
    t.notMatch(program.output(), /ready$/m)
  }
  await t.test('says that the index is still being built, and where the log is', async (t) => {
    const program = startProgram(t, ['scripts/demo.ts'], env)
    const indexer = await eventually(
      () => findChild(program.child.pid ?? 0, 'scripts/indexer.ts'),
      (pid) => pid !== undefined,
      240_000,
    )
    // A paused indexer builds nothing.
    process.kill(indexer ?? Number.NaN, 'SIGSTOP')
    await eventually(
      async () => program.output(),
      (output) => output.includes('still building'),
      120_000,
    )
    program.child.kill('SIGINT')
    t.equal(await program.exit, 0)
    t.match(program.output(), `still building the search index; see ${directory}/indexer.log\n`)
    t.notMatch(program.output(), /ready$/m)
  })
  const first = startProgram(t, ['scripts/demo.ts'], env)
  const [demo, expected] = await Promise.all([ready(first), statsOfRawFile()])

  await t.test('prints curl commands that work', async (t) => {
    const lines = [...first.output().matchAll(/^ {2}curl (?:-H '([^']+)' )?'([^']+)'$/gm)]
    t.ok(lines.length >= 5)
    for (const [, header, url = ''] of lines) {
      const [name, value] = header?.split(': ') ?? []
      t.equal((await get(url, name && value ? { [name]: value } : {})).status, 200, url)
    }
    t.match(first.output(), /products, .* quotes and .* quote lines/)
    t.match(first.output(), /CC0/)
  })

  await t.test('serves the home page with its quote and key, and the dashboard', async (t) => {
    const { status, text } = await get(`${demo.url}/`)
    t.equal(status, 200)
    t.ok(text.includes(demo.shareUrl) && text.includes(demo.paletteKey))
    t.equal((await get(`${demo.url}/dashboard`)).status, 200)
    t.equal(
      (await get(`${demo.url}/api/search?q=bag&key=${demo.paletteKey}`, { origin: demo.url }))
        .status,
      200,
    )
  })

  await t.test('finds a product despite a typo', async (t) => {
    const { text } = await get(`${demo.url}/api/search?q=jumbo+strage+bag`)
    t.match(JSON.parse(text).hits[0].name, /^JUMBO STORAGE BAG/)
    t.match(
      JSON.parse((await get(`${demo.url}/api/search?q=martilo`)).text).hits[0].name,
      /^Martillo/,
    )
  })

  await t.test('computes the statistics of the raw file to the penny', async (t) => {
    const got = JSON.parse((await get(`${demo.url}/api/stats?to=2011-12-31`)).text) as Stats
    t.same(got.revenue.total, { amount: pounds(expected.revenue), currency: 'GBP' })
    t.same(
      [got.quotes.total, got.quotes.byStatus.accepted, got.quotes.byStatus.rejected],
      [expected.accepted + expected.rejected, expected.accepted, expected.rejected],
    )
    t.same(
      Object.fromEntries(got.byMonth.map(({ month, revenue }) => [month, revenue.amount])),
      pounds(expected.byMonth),
    )
    t.same(
      Object.fromEntries(
        got.byCountry.map(({ country, revenue }) => [country ?? 'unknown', revenue.amount]),
      ),
      pounds(expected.byCountry),
    )
  })

  await t.test('the commands of README work as they stand', async (t) => {
    const project = createTemporaryDirectory(t, 'readme')
    const root = join(import.meta.dirname, '../..')
    for (const name of ['scripts', 'node_modules'])
      await symlink(join(root, name), join(project, name))
    await symlink(directory, join(project, 'data'))
    const readme = await readFile(join(root, 'README.md'), 'utf8')
    const blocksOf = (heading: string, language: string) => {
      const [, chapter = ''] = readme.split(`\n## ${heading}\n`)
      const [text = ''] = chapter.split('\n## ')
      const blocks = text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))
      return [...blocks].map(([, block = '']) => block)
    }
    const shell = (commands: string) =>
      new Promise<string>((resolve, reject) => {
        const prelude = 'set -eu; curl() { command curl -fsS "$@"; echo; }; . data/demo.env'
        execFile('bash', ['-c', `${prelude}\n${commands}`], { cwd: project }, (error, output) =>
          error ? reject(error) : resolve(output),
        )
      })

    const [usage = ''] = blocksOf('Use it', 'sh')
    const [found = '', stats = '', quote = ''] = (await shell(usage)).trim().split('\n')
    t.match(JSON.parse(found).hits[0].name, /^JUMBO STORAGE BAG/)
    t.match(JSON.parse(stats), { byMonth: Array, byCountry: Array })
    t.match(JSON.parse(quote).document.number, /^EJ-/)

    const heading = 'Import your own data'
    const files = blocksOf(heading, 'csv')
    t.equal(files.length, 2)
    for (const [i, name] of ['products.csv', 'quotes.csv'].entries())
      await writeFile(join(project, name), files[i] ?? '')
    const examples = blocksOf(heading, 'console').flatMap((block) => block.split(/^\$ /m).slice(1))
    t.equal(examples.length, 4)
    for (const example of examples) {
      const [command = '', ...lines] = example.trim().split('\n')
      // Times, ids and tokens vary, and a response is cut off.
      const expected = lines
        .map((line) => line.replace(/ in \d.*|"id".*/, '').replace(/http.*\/share\/.*/, '/share/'))
        .filter((line) => line !== '')
      const output = await eventually(
        () => shell(command),
        (text) => !command.startsWith('curl') || text.includes('GR-15-CR'),
      )
      for (const line of expected) t.ok(output.includes(line), `${command}: ${line}: ${output}`)
    }
  })

  await t.test('prints a link to an example quote, which is marked as such', async (t) => {
    const { status, text } = await get(demo.shareUrl)
    t.equal(status, 200)
    t.match(text, /EJ-/)
    t.match(text, /Ejemplo/)
  })

  await t.test('finds a product under the name that it was given with SQL', async (t) => {
    const { openPool } = await import('../../src/database/postgres-pool.ts')
    const pool = openPool(demo.databaseUrl, { connections: 1 })
    await pool.query("update products set name = 'Zarzaparrilla embotellada' where sku = '85123A'")
    await pool.end()
    const found = await eventually(
      async () =>
        JSON.parse((await get(`${demo.url}/api/search?q=zarzaparrilla`)).text).hits as {
          sku: string
        }[],
      (hits) => hits.length > 0,
    )
    t.equal(found[0]?.sku, '85123A')
  })

  await t.test('gives each program its own role and key, and no other', async (t) => {
    const secretsOf = async (script: string) => {
      const child = await findChild(first.child.pid ?? 0, script)
      const names = (await readFile(`/proc/${child}/environ`, 'utf8'))
        .split('\0')
        .map((setting) => setting.split('=', 1)[0] ?? '')
      return names.filter((name) => /DATABASE_URL|KEY/.test(name)).toSorted()
    }
    t.same(await secretsOf('src/server.ts'), ['API_DATABASE_URL', 'MEILI_SEARCH_KEY'])
    t.same(await secretsOf('scripts/indexer.ts'), ['INDEXER_DATABASE_URL', 'MEILI_INDEXER_KEY'])
  })

  first.child.kill('SIGINT')
  t.equal(await first.exit, 0, 'exits with status 0 on Ctrl+C')
  for (const url of [demo.url, demo.opsUrl, demo.meiliUrl])
    await t.rejects(fetch(url), `${url} is closed`)

  await interruptAt('the database holds')
  const second = startProgram(t, ['scripts/demo.ts'], env)
  const again = await ready(second)
  t.notMatch(second.output(), /loading/, 'keeps the data')
  t.same(
    [again.shareUrl, again.searchKey, again.statsKey],
    [demo.shareUrl, demo.searchKey, demo.statsKey],
    'keeps the keys and the link',
  )
  const { openPool } = await import('../../src/database/postgres-pool.ts')
  const pool = openPool(again.databaseUrl, { connections: 1 })
  const counted = await pool.query(
    `select (select count(*)::int from api_keys) as keys,
            (select count(*)::int from quote_shares) as links`,
  )
  await pool.end()
  // The commands of README create the second link.
  t.same(counted.rows, [{ keys: 4, links: 2 }], 'an interrupted start leaves no key and no link')
  t.match((await get(`${again.url}/api/search?q=zarzaparrilla`)).text, /85123A/)

  const samePort = startProgram(t, ['scripts/demo.ts'], {
    ...env,
    DATA_DIR: `${directory}-same-port`,
  })
  const badDirectory = startProgram(t, ['scripts/demo.ts'], {
    DATA_DIR: join(directory, 'demo.json', 'data'),
    PORT: String(await chooseFixedPort()),
  })
  t.same(await Promise.all([samePort.exit, badDirectory.exit]), [1, 1])
  t.match(samePort.output(), /port \d+ .*in use/i, 'names a taken port')
  t.match(
    badDirectory.output(),
    /demo\.json is a file, so .*demo\.json\/data cannot be a directory/,
    'names a data directory that cannot be created',
  )

  second.child.kill('SIGKILL')
  await second.exit
  const closed = async (url: string) =>
    fetch(url).then(
      () => false,
      () => true,
    )
  for (const url of [again.url, again.opsUrl, again.meiliUrl]) {
    t.equal(
      await eventually(
        () => closed(url),
        (is) => is,
      ),
      true,
      `leaves nothing running at ${url} after kill -9`,
    )
  }
})

t.test('leaves no process behind when it gets SIGTERM while it starts', async (t) => {
  const directory = createTemporaryDirectory(t, 'demo')
  const env = { DATA_DIR: directory, PORT: String(await chooseFixedPort()) }
  const program = startProgram(t, ['scripts/demo.ts'], env)
  const { pid = 0 } = program.child
  // initdb, Redis and Meilisearch: the demo is in the middle of starting its servers.
  const children = await eventually(
    async () => childrenOf(pid),
    (children) => children.length >= 2,
  )
  t.ok(children.length >= 2)
  program.child.kill('SIGTERM')
  t.equal(await program.exit, 0)
  t.match(program.output(), /stopping$/m)
  t.notMatch(program.output(), /ready$/m)
  t.same(await processesNaming(directory), [])
})

/** The command lines of the processes that name a path: each server is given its directory. */
async function processesNaming(path: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return commands.filter((command) => command.includes(path))
}

const countries = JSON.parse(
  readFileSync(new URL('../../demo/online_retail_countries.json', import.meta.url), 'utf8'),
) as Record<string, string>

type Pence = Record<string, bigint>

/**
 * Computed with integers, without the importer or SQL. Each line is rounded half up to the penny,
 * as a quote line is.
 */
async function statsOfRawFile() {
  const raw = gunzipSync(
    await readFile(join(import.meta.dirname, '../../demo/online_retail_2010_2011.csv.gz')),
  ).toString('utf8')
  const [header = [], ...rows] = [...records(raw)]
  const at = (name: string) => header.indexOf(name)
  const [number, quantity, date, price, country] = [
    'InvoiceNo',
    'Quantity',
    'InvoiceDate',
    'UnitPrice',
    'Country',
  ].map(at) as [number, number, number, number, number]
  const invoices = new Map<string, { pence: bigint; month: string; country: string }>()
  for (const row of rows) {
    const invoice = row[number] ?? ''
    if (invoice.startsWith('A')) continue
    const units = BigInt(row[quantity] ?? '') * (invoice.startsWith('C') ? -1n : 1n)
    const [whole = '', fraction = ''] = (row[price] ?? '').split('.')
    const mils = BigInt(`${whole}${fraction.padEnd(3, '0')}`)
    if (fraction.length > 3 || units <= 0n || mils <= 0n) continue
    const totals = invoices.get(invoice) ?? {
      pence: 0n,
      month: (row[date] ?? '').slice(0, 7),
      country: countries[row[country] ?? ''] || 'unknown',
    }
    totals.pence += (units * mils + 5n) / 10n
    invoices.set(invoice, totals)
  }
  const accepted = [...invoices]
    .filter(([invoice]) => !invoice.startsWith('C'))
    .map(([, totals]) => totals)
  const sumBy = (keyOf: (totals: { month: string; country: string }) => string): Pence => {
    const sums: Pence = Object.fromEntries(
      [...invoices.values()].map((totals) => [keyOf(totals), 0n]),
    )
    for (const totals of accepted) sums[keyOf(totals)] = (sums[keyOf(totals)] ?? 0n) + totals.pence
    return sums
  }
  return {
    accepted: accepted.length,
    rejected: invoices.size - accepted.length,
    revenue: accepted.reduce((sum, { pence }) => sum + pence, 0n),
    byMonth: sumBy(({ month }) => month),
    byCountry: sumBy(({ country }) => country),
  }
}

/** No field of the file contains a line break, and few lines have quotation marks. */
function* records(text: string): Generator<string[]> {
  for (const line of text.trimEnd().split('\n'))
    yield line.includes('"')
      ? Array.from(line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g), ([, quoted, plain]) =>
          quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'),
        )
      : line.split(',')
}

function pounds(pence: bigint): string
function pounds(pence: Pence): Record<string, string>
function pounds(pence: bigint | Pence) {
  if (typeof pence === 'bigint') return `${pence / 100n}.${String(pence % 100n).padStart(2, '0')}`
  return Object.fromEntries(Object.entries(pence).map(([key, value]) => [key, pounds(value)]))
}
