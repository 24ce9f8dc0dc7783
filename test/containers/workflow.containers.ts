// Executes the steps of the forge's workflow, as they stand and in their order, on a machine with
// the services of the job. WORKFLOW=whole executes commands whole that take minutes.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readHealth, removeMachine, startMachine, startService } from './machine.ts'
import { newer, project, until } from './stack.ts'
import {
  describeStep,
  findUnlisted,
  jobs,
  jobsElsewhere,
  parts,
  standIns,
} from './workflow-steps.ts'

t.bail = true
t.setTimeout(0)

const shared = join(project, '..')
const isWhole = process.env.WORKFLOW === 'whole'
const print = (line: string) => console.log(`# ${line}`)

t.test('each step is executed, or listed with a reason', async (t) => {
  t.same(findUnlisted(jobs), [])
  for (const [job, why] of Object.entries(jobsElsewhere)) print(`job ${job}, not here: ${why}`)
  for (const [name, what] of Object.entries(standIns)) print(`${name}, instead: ${what}`)
})

for (const [jobName, { services = {}, env = {}, steps }] of Object.entries(jobs)) {
  if (jobName in jobsElsewhere) continue
  t.test(`job ${jobName}`, async (t) => {
    t.teardown(() => removeMachine(shared))
    for (const [name, service] of Object.entries(services))
      await startService(name, service, shared)
    for (const [name, { options = '' }] of Object.entries(services))
      if (options.includes('--health-cmd')) {
        const look = () => readHealth(name, shared)
        await until(`the service ${name}`, look, (health) => health === 'healthy')
        t.pass(`the service ${name} is healthy`)
      }
    const directory = join(shared, `job-${jobName}`)
    mkdirSync(directory)
    const machine = await startMachine(join(shared, 'origin'), newer, directory)
    await until('systemd', machine.readState, (state) => /^(running|degraded)/.test(state))
    for (const step of steps.filter(({ run }) => run !== undefined)) {
      const command = describeStep(step)
      const files = isWhole ? undefined : parts[command]?.join(' ')
      const settings = files === undefined ? env : { ...env, FILES: files }
      const startedAt = performance.now()
      const output = await machine.execute(step, settings)
      const seconds = Math.round((performance.now() - startedAt) / 1_000)
      const lastLine = output.trim().split('\n').at(-1)
      print(`${seconds} s: ${command.split('\n', 1)}${files ? ' with a part of its files' : ''}`)
      print(`       ${lastLine}`)
      t.pass(command)
      if (/make [a-z-]*test$/.test(command))
        t.match(lastLine, /^[1-9]\d* passed, 0 failed$/, 'tests have run')
    }
  })
}
