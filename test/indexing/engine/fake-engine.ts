// An engine in memory whose uploads fail with an internal error when a test says so. A real engine
// does not do that on request. Like Meilisearch, it runs queued writes together, and if one of them
// fails internally, all of them fail.
import { setTimeout as sleep } from 'node:timers/promises'
import { Meilisearch, type Task } from 'meilisearch'

type FakeTask = Pick<Task, 'uid' | 'status' | 'error'> & {
  /** The documents to add, as lines of JSON, the ids to delete, or a setting as JSON. */
  write: { added: string[] } | { deletedIds: string[] } | { setting: string }
}

type Behaviour = {
  /** Whether writing this document or setting, or deleting this id, fails internally. */
  isFatal: (text: string) => boolean
  /** How long the engine works for other indexes before each batch of writes. */
  pauseMs: number
}

export class FakeEngine {
  /** The documents by id, as JSON. */
  readonly documents = new Map<string, string>()
  readonly client: Meilisearch
  /** May be changed at any time. */
  readonly behaviour: Behaviour = {
    isFatal: () => false,
    pauseMs: 0,
  }
  readonly #tasks: FakeTask[] = []
  #isRunning = false

  constructor() {
    this.client = new Meilisearch({
      host: 'http://in-memory',
      httpClient: async (url, init) => this.#answer(new URL(url as URL), init?.body),
    })
  }

  #answer({ pathname, searchParams }: URL, body: unknown): unknown {
    if (/^\/indexes\/[^/]+$/.test(pathname)) return { uid: 'products' }
    if (pathname.endsWith('/documents'))
      return this.#enqueue({ added: String(body).trimEnd().split('\n') })
    if (pathname.endsWith('/documents/delete-batch'))
      return this.#enqueue({ deletedIds: JSON.parse(String(body)) as string[] })
    if (pathname.endsWith('/settings/synonyms')) return this.#enqueue({ setting: String(body) })
    // Everything has ended by the time that a test cancels.
    if (pathname === '/tasks/cancel') return this.#enqueue({ deletedIds: [] })
    if (pathname === '/tasks') {
      const task = this.#tasks[Number(searchParams.get('from'))]
      return { results: task ? [describe(task)] : [] }
    }
    const task = this.#tasks[Number(/^\/tasks\/(\d+)$/.exec(pathname)?.[1])]
    if (task) return describe(task)
    throw new Error(`The engine in memory has no ${pathname}`)
  }

  #enqueue(write: FakeTask['write']): { taskUid: number } {
    const uid = this.#tasks.push({
      uid: this.#tasks.length,
      status: 'enqueued',
      error: null,
      write,
    })
    void this.#run()
    return { taskUid: uid - 1 }
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    for (;;) {
      if (this.behaviour.pauseMs > 0) await sleep(this.behaviour.pauseMs)
      const batch = this.#tasks.filter(({ status }) => status === 'enqueued')
      if (batch.length === 0) break
      await this.#runTogether(batch)
    }
    this.#isRunning = false
  }

  async #runTogether(batch: FakeTask[]): Promise<void> {
    for (const task of batch) task.status = 'processing'
    const added = batch.flatMap(({ write }) => ('added' in write ? write.added : []))
    const { isFatal } = this.behaviour
    const settings = batch.flatMap(({ write }) => ('setting' in write ? [write.setting] : []))
    const deletedIds = batch.flatMap(({ write }) => ('deletedIds' in write ? write.deletedIds : []))
    const isFailure = [...added, ...settings, ...deletedIds].some(isFatal)
    await sleep(0)
    for (const task of batch) {
      task.status = isFailure ? 'failed' : 'succeeded'
      if (isFailure) task.error = internalError
      else if ('added' in task.write)
        for (const line of task.write.added)
          this.documents.set((JSON.parse(line) as { id: string }).id, line)
      else if ('deletedIds' in task.write)
        for (const id of task.write.deletedIds) this.documents.delete(id)
    }
  }
}

const internalError = {
  message: 'internal: the thread that indexes has panicked.',
  code: 'internal',
  type: 'internal',
  link: '',
}

const describe = ({ uid, status, error }: FakeTask) => ({
  uid,
  status,
  error,
  type: 'documentAdditionOrUpdate',
  indexUid: 'products',
  enqueuedAt: new Date(0).toISOString(),
})
