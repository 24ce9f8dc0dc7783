// Plays a short random history on servers of its own. `make endurance` plays many more.
import t from 'tap'
import { startCluster } from './cluster.ts'
import { playHistory } from './play-history.ts'
import { withConnection } from './run-transactions.ts'
import { seededRandom } from './seeded-random.ts'
import { createLink, type Link, revokeLink, upsertQuote } from './workloads/quote-link-workload.ts'
import { deleteQuotes } from './workloads/quote-rows.ts'
import type { Change } from './workloads/workload.ts'

t.test('every response of a random history shows a committed state', async (t) => {
  const cluster = await startCluster(t)
  await t.test('the oracle knows links of deleted quotes', async (t) => {
    const links: Link[] = []
    const apply = (change: Change) =>
      withConnection(cluster, (client) => change.apply(client, cluster.clock))
    await apply(upsertQuote('L-1', 'Marca'))
    const [created] = await apply(createLink(seededRandom(1), 'L-1', links))
    t.match(created, { key: /^link / })
    const deletion = await withConnection(cluster, (client) => deleteQuotes(client, 'L-1'))
    t.same(deletion.at(-1), { key: created?.key, value: 'absent' })
    t.same(await apply(revokeLink(1, links)), [], 'its revocation changes no answer')
    for (const { url } of cluster.apis) {
      const { status } = await fetch(`${url}/quote/share/${links[0]?.token}`)
      t.equal(status, 404)
    }
  })
  // Wipes an engine, kills an API, restarts the other engine and puts the database back.
  const seed = 12
  const { violations, responses, eventLog } = await playHistory(cluster, seed, 60)
  t.same(violations, [], `seed ${seed}`)
  t.ok(responses > 50, `${responses} responses were checked`)
  if (violations.length > 0) t.comment(eventLog.join('\n'))
})
