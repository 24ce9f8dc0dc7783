// Hundreds of random histories. HISTORIES says how many (200), HISTORY_SEED where to begin (by default somewhere new each time).
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { playHistory } from '../history/history.ts'
import { startWorld } from '../history/world.ts'

const count = Number(process.env.HISTORIES || 200)
const first = Number(process.env.HISTORY_SEED || 1 + Math.floor(Math.random() * 1_000_000))
const steps = 200

t.setTimeout(count * 120_000)
t.test(`${count} histories from seed ${first}`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  await chmod(directory, 0o755)
  const world = await startWorld(directory)
  t.teardown(async () => {
    await world.stop()
    await rm(directory, { recursive: true, force: true })
  })
  for (let seed = first; seed < first + count; seed++) {
    const { wrong, events } = await playHistory(world, seed, steps)
    t.same(wrong.slice(0, 10), [], `node test/history/run.ts --seed ${seed} --steps ${steps}`)
    if (wrong.length > 0) t.comment(events.join('\n'))
  }
})
