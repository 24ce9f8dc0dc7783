// How old the statistics are, why they cannot be loaded, and the form for a key if one is needed.
import { useEffect, useState } from 'preact/hooks'
import { formats, texts } from './page.ts'
import { askForKey, cancelKeyForm, retry, type State, useKey } from './state.ts'
import { needsKey, type StatsResponse } from './stats-polling.ts'

/** The age of the data and the seconds until a retry are updated at this interval. */
const clockIntervalMs = 1_000

/** Renders a component again every second. Returns the time of performance.now(). */
function useClock(): number {
  const [, setTime] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTime(performance.now()), clockIntervalMs)
    return () => clearInterval(timer)
  }, [])
  return performance.now()
}

type DataAgeProps = Pick<StatsResponse, 'asOf' | 'currentAt' | 'isStale'>

/** At what time the statistics were current, and how long ago that is. */
export function DataAge({ asOf, currentAt, isStale }: DataAgeProps) {
  const age = formats.ago(Math.max(0, Math.floor((useClock() - currentAt) / 1_000)))
  const text = isStale ? texts.notUpdated : texts.updated
  return (
    <p class="data-age" id="data-age" data-state={isStale ? 'stale' : 'fresh'}>
      <span class="dot" aria-hidden="true" />
      <time id="data-age-text" dateTime={new Date(asOf).toISOString()} title={age}>
        {formats.fill(text, { time: formats.time(asOf), age })}
      </time>
    </p>
  )
}

/** The element stays while there is no error, so that screen readers notice the next one. */
export function ErrorNotice({ error }: Pick<State, 'error'>) {
  const shown = error && !needsKey(error.kind) ? error : null
  const kind = shown?.kind as keyof typeof texts.errors | undefined
  const needsVisitor = kind === 'invalidFilter'
  return (
    <div class="error" id="error" role="alert" hidden={!shown}>
      <p id="error-text">
        {shown && kind && (
          <strong>
            {formats.fill(texts.errors[kind], { parameters: shown.parameters.join(', ') })}
          </strong>
        )}
        {shown && needsVisitor && (
          <span lang="en" class="detail">
            {shown.detail}
          </span>
        )}
      </p>
      <p>
        <span id="retry-countdown">{shown?.retryAt && <Countdown retryAt={shown.retryAt} />}</span>{' '}
        <button
          type="button"
          class="quiet"
          id="retry"
          hidden={needsVisitor || kind === 'limited'}
          onClick={retry}
        >
          {texts.retry}
        </button>
      </p>
    </div>
  )
}

function Countdown({ retryAt }: { retryAt: number }) {
  const seconds = Math.max(1, Math.ceil((retryAt - useClock()) / 1_000))
  return <>{formats.fill(texts.retryIn, { seconds: String(seconds) })}</>
}

export const KeyForm = ({ keyForm, keyProblem }: Pick<State, 'keyForm' | 'keyProblem'>) => (
  <form
    class="card key-form"
    id="key-form"
    hidden={keyForm === 'closed'}
    onSubmit={(event) => {
      event.preventDefault()
      const field = event.currentTarget.elements.namedItem('key')
      if (!(field instanceof HTMLInputElement)) return
      const key = field.value.trim()
      if (key === '') return field.focus()
      field.value = ''
      useKey(key)
    }}
    onKeyDown={({ key }) => key === 'Escape' && cancelKeyForm()}
  >
    <h2>{texts.keyHeading}</h2>
    <p id="key-explanation">{texts.keyExplanation}</p>
    <p class="key-row">
      <label for="key">{texts.key}</label>
      <input
        type="password"
        id="key"
        autocomplete="off"
        spellcheck={false}
        required
        aria-invalid={keyProblem !== null}
        aria-describedby="key-error key-explanation"
      />
      <button type="submit" class="button">
        {texts.useKey}
      </button>
      <button
        type="button"
        class="quiet"
        hidden={keyForm !== 'requested'}
        onClick={cancelKeyForm}
        id="cancel-key"
      >
        {texts.cancel}
      </button>
    </p>
    <p id="key-error" class="key-error" role="alert">
      {keyProblem}
    </p>
  </form>
)

/** Says that a section needs a key with stats:detail, and offers to enter one. */
export const KeyRequest = () => (
  <>
    {`${texts.needsDetailScope} `}
    <button type="button" class="quiet" onClick={askForKey}>
      {texts.enterKey}
    </button>
  </>
)
