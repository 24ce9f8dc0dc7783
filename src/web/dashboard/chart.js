// A column for each month or year, drawn to the width it is given. The table beside says the same: to screen readers the drawing is an image.
import { drawn } from './elements.js'

/**
 * A column of stacked parts from the base line up (or down, below zero); `label` stands under it, `group` under the first of its group.
 * @typedef {{ name: string, label: string, group: string, isPartial: boolean, parts: number[] }} Column
 */

const gutter = 46
const top = 8
const widest = 44

/**
 * @param {SVGSVGElement} place
 * @param {{ columns: Column[], height: number, width: number, parts: string[], axis: (value: number) => string, isDense: boolean }} options
 *   `parts` are the class names of the parts; `isDense` leaves out the names under the columns
 */
export function drawColumns(place, { columns, height, width, parts, axis, isDense }) {
  const names = isDense ? 4 : 36
  const bottom = height - names
  const totals = columns.map(({ parts }) => parts.reduce((total, part) => total + part, 0))
  const ticks = ticksFor(
    Math.min(0, ...totals),
    Math.max(0, ...totals),
    Math.max(2, Math.round((bottom - top) / 48)),
  )
  const low = ticks[0] ?? 0
  const high = ticks.at(-1) ?? 1
  /** @param {number} value */
  const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top)
  const step = (width - gutter) / Math.max(1, columns.length)
  const gap = step > 6 ? Math.max(step * 0.28, step - widest) : step > 2.5 ? 1 : 0
  place.setAttribute('viewBox', `0 0 ${width} ${height}`)
  place.setAttribute('width', String(width))
  place.setAttribute('height', String(height))
  place.replaceChildren(
    hatch(place.id),
    ...ticks.map((tick) =>
      drawn(
        'g',
        {},
        drawn('line', {
          class: tick === 0 ? 'base' : 'grid',
          x1: gutter,
          x2: width,
          y1: y(tick),
          y2: y(tick),
        }),
        drawn('text', { class: 'tick', x: gutter - 6, y: y(tick) + 4 }, axis(tick)),
      ),
    ),
    ...columns.map((column, index) => {
      const x = gutter + index * step
      let from = 0
      const bars = column.parts.flatMap((part, order) => {
        if (part === 0) return []
        const [start, end] = [y(from), y(from + part)]
        // A line of the background between the parts of a column.
        const seam = order > 0 && from !== 0 && step > 6 ? 1 : 0
        from += part
        const place = { x: x + gap / 2, y: Math.min(start, end), width: Math.max(step - gap, 0.5) }
        return [
          drawn('rect', {
            class: `bar ${parts[order]}`,
            ...place,
            height: Math.max(0, Math.abs(start - end) - seam),
          }),
        ]
      })
      const shade = column.isPartial
        ? drawn('rect', {
            fill: `url(#${place.id}-hatch)`,
            x: x + gap / 2,
            width: Math.max(step - gap, 0.5),
            y: Math.min(y(0), y(from)),
            height: Math.abs(y(0) - y(from)),
          })
        : null
      return drawn(
        'g',
        { class: 'column', 'data-name': column.name },
        drawn('rect', { class: 'reach', x, width: step, y: top, height: bottom - top }),
        ...bars,
        shade,
      )
    }),
    ...(isDense ? [] : namesUnder(columns, step, bottom)),
  )
}

/**
 * The index of the column at a place of the screen, or -1.
 * @param {SVGSVGElement} place
 * @param {number} count
 * @param {number} clientX
 */
export function columnAt(place, count, clientX) {
  const { left, width } = place.getBoundingClientRect()
  const drawnWidth = place.viewBox.baseVal.width || 1
  const x = ((clientX - left) / (width || 1)) * drawnWidth - gutter
  const index = Math.floor((x / (drawnWidth - gutter)) * count)
  return index >= 0 && index < count ? index : -1
}

/**
 * Round values that hold both ends, about as many as wanted.
 * @param {number} low
 * @param {number} high
 * @param {number} wanted
 */
export function ticksFor(low, high, wanted) {
  const span = high - low || 1
  const rough = span / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const ticks = []
  for (let index = Math.floor(low / step); index < Math.ceil(high / step) + 1; index += 1)
    ticks.push(index * step)
  return ticks.length > 1 ? ticks : [0, step]
}

/**
 * Names of columns where they have room, names of groups where a group begins.
 * @param {Column[]} columns
 * @param {number} step
 * @param {number} bottom
 */
function namesUnder(columns, step, bottom) {
  const longest = Math.max(...columns.map(({ label }) => label.length)) * 7 + 8
  const every = Math.ceil(longest / step)
  const isGrouped = columns.some(({ group }) => group !== '')
  const hasLabels = !isGrouped || every <= 3
  const starts = columns.flatMap(({ group }, index) =>
    group !== '' && columns[index - 1]?.group !== group ? [index] : [],
  )
  return [
    ...columns.flatMap(({ label }, index) =>
      hasLabels && index % every === 0
        ? [
            drawn(
              'text',
              { class: 'under', x: gutter + (index + 0.5) * step, y: bottom + 16 },
              label,
            ),
          ]
        : [],
    ),
    ...starts.flatMap((index, order) => {
      const x = gutter + index * step
      // A group that is cut to few columns gives its room to the next one's name.
      if (((starts[order + 1] ?? columns.length) - index) * step < 36 && order + 1 < starts.length)
        return []
      const text = drawn(
        'text',
        { class: 'group', x: x + 2, y: bottom + (hasLabels ? 32 : 16) },
        columns[index]?.group ?? '',
      )
      return [
        text,
        ...(index > 0
          ? [drawn('line', { class: 'grid', x1: x, x2: x, y1: top, y2: bottom + 4 })]
          : []),
      ]
    }),
  ]
}

/**
 * What marks a column that is not over yet, or cut.
 * @param {string} id
 */
function hatch(id) {
  return drawn(
    'defs',
    {},
    drawn(
      'pattern',
      {
        id: `${id}-hatch`,
        width: 6,
        height: 6,
        patternUnits: 'userSpaceOnUse',
        patternTransform: 'rotate(45)',
      },
      drawn('rect', { class: 'hatch', width: 3, height: 6 }),
    ),
  )
}
