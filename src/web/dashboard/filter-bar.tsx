// The header with its links, and the controls that select the period, the country, the date and
// the comparison.
import type { TargetedEvent } from 'preact'
import { DataAge } from './notices.tsx'
import { countryName, page, texts } from './page.ts'
import { adjacentPeriod, isDay, type Period, todayIn } from './periods.ts'
import {
  addressInLanguage,
  addressWith,
  changeFilters,
  csvFile,
  currentPeriod,
  downloadCsv,
  forgetKey,
  loadCountries,
  type State,
} from './state.ts'

/** A changed date is applied after a pause, because typing a date changes it several times. */
const dateInputDelayMs = 500
/** Earlier days are ignored: while 2026 is typed, the year is 0002, 0020 and 0202. */
const earliestDay = '1000'

export function Header({ state }: { state: State }) {
  const { age, hasKey } = state
  const csv = csvFile(state)
  return (
    <header class="top">
      <div class="company">
        <span class="monogram" aria-hidden="true">
          {page.initials}
        </span>
        <p class="name">
          <bdi>{page.company}</bdi>
        </p>
        <h1>{texts.heading}</h1>
      </div>
      <div class="tools">
        {age && <DataAge {...age} />}
        <button type="button" class="quiet" id="forget-key" hidden={!hasKey} onClick={forgetKey}>
          {texts.forgetKey}
        </button>
        <a
          class="quiet"
          id="csv"
          title={texts.csvTitle}
          href={csv.href}
          download={csv.fileName}
          onClick={downloadCsv}
        >
          {texts.csv}
        </a>
        <button type="button" class="quiet" id="print" onClick={() => print()}>
          {texts.print}
        </button>
        <span class="languages" id="languages">
          {page.otherLanguages.map(({ code, name }) => (
            <a
              key={code}
              class="quiet"
              id={`language-${code}`}
              href={addressInLanguage(code)}
              hreflang={code}
              lang={code}
              title={name}
            >
              {code.toUpperCase()}
            </a>
          ))}
        </span>
      </div>
    </header>
  )
}

export function FilterBar({ state }: { state: State }) {
  const { preset, country, date, compare } = state.filters
  const period = currentPeriod(state)
  const countries = [...state.countries]
    .map((code) => ({ code, name: countryName(code) }))
    .sort((a, b) => a.name.localeCompare(b.name, page.language))
  return (
    <section class="filters" aria-label={texts.filters}>
      <nav class="choices" aria-label={texts.period}>
        {Object.entries(texts.presets).map(([name, text]) => (
          <a
            key={name}
            href={presetAddress(name)}
            data-preset={name}
            aria-current={name === preset ? 'true' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <div class="days">
        <StepButton id="previous" sign="‹" preset={preset} period={period} />
        <DateField name="from" period={period} />
        <span aria-hidden="true">–</span>
        <DateField name="to" period={period} />
        <StepButton id="next" sign="›" preset={preset} period={period} />
      </div>
      <label class="field country">
        <span class="hidden">{texts.country}</span>
        <select
          id="country"
          value={country}
          onChange={({ currentTarget }) => changeFilters({ country: currentTarget.value })}
          onFocus={loadCountries}
          onPointerEnter={loadCountries}
        >
          <option value="">{texts.allCountries}</option>
          {countries.map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Choice name="date" label={texts.dateKind} value={date} options={texts.dateKinds} />
      <Choice name="compare" label={texts.compare} value={compare} options={texts.comparisons} />
    </section>
  )
}

/** The address of a preset period, which is not part of another one. */
export const presetAddress = (preset: string): string =>
  addressWith({ preset: preset as State['filters']['preset'], by: '', within: '' })

type ChoiceProps = {
  name: 'date' | 'compare'
  label: string
  value: string
  options: Record<string, string>
}

/** The option `none` stands for ''. */
const Choice = ({ name, label, value, options }: ChoiceProps) => (
  <label class="field">
    <span class="hidden">{label}</span>
    <select
      id={name}
      value={value}
      onChange={({ currentTarget }) => changeFilters({ [name]: currentTarget.value })}
    >
      {Object.entries(options).map(([option, text]) => (
        <option key={option} value={option === 'none' ? '' : option}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

type StepProps = { id: 'previous' | 'next'; sign: string; preset: string; period: Period }

/** Leads to the period before or after. */
function StepButton({ id, sign, preset, period }: StepProps) {
  const label = id === 'previous' ? texts.previousPeriod : texts.nextPeriod
  const direction = id === 'previous' ? -1 : 1
  const adjacent = adjacentPeriod(preset, period, direction, todayIn(page.timeZone))
  return (
    <button
      type="button"
      class="quiet step"
      id={id}
      disabled={adjacent === null}
      aria-label={label}
      title={label}
      onClick={() => adjacent && changeFilters({ preset: 'custom', ...adjacent })}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  )
}

let inputTimer: ReturnType<typeof setTimeout> | undefined

/** A date is applied when the visitor stops typing. A field with the focus is never overwritten. */
function DateField({ name, period }: { name: 'from' | 'to'; period: Period }) {
  const current = isDay(period[name]) ? period[name] : ''
  const isFocused = document.activeElement?.id === name
  return (
    <label>
      <span class="hidden">{texts[name]}</span>
      <input
        type="date"
        id={name}
        min="1000-01-01"
        max="9999-12-31"
        value={isFocused ? undefined : current}
        onChange={({ currentTarget }) => {
          clearTimeout(inputTimer)
          inputTimer = setTimeout(() => applyDates(currentTarget), dateInputDelayMs)
        }}
        onBlur={({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
          if (currentTarget.value < earliestDay) currentTarget.value = current
          else if (currentTarget.value !== period[name]) applyDates(currentTarget)
        }}
      />
    </label>
  )
}

function applyDates(field: HTMLInputElement): void {
  if (field.value < earliestDay) return
  clearTimeout(inputTimer)
  const [from = '', to = ''] = ['from', 'to'].map((id) => {
    const input = document.getElementById(id)
    return input instanceof HTMLInputElement ? input.value : ''
  })
  const isReversed = from !== '' && to !== '' && from > to
  // The visitor may change the other field next.
  if (isReversed && document.activeElement === field) return
  changeFilters({ preset: 'custom', from, to, by: '', within: '' })
}
