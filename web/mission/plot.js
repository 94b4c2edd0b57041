// A chart by day, drawn by uPlot in the colours of the page; the values at the pointer are shown above it as text.
import { useEffect, useRef, useState } from 'preact/hooks'
import { dayName } from './format.js'
import { addStyles, html } from './ui.js'

const height = 190

let library = null
/** Loaded with the first chart, so that the other pages do not have to. */
const loadLibrary = () => {
  library ??= Promise.all([import('uplot'), addStyles('/vendor/uplot.css')]).then(([module]) => module.default)
  return library
}

/**
 * @param {{
 *   label: string, days: string[], write: (value: number) => string, stacked?: boolean, whole?: boolean, bad?: string | null,
 *   series: { name: string, values: (number | null)[] }[],
 * }} props `bad` names the series in the colour of failures; `whole`: integers only
 */
export const Plot = ({ label, days, series, write, stacked = false, whole = false, bad = null }) => {
  const place = useRef(null)
  const [at, setAt] = useState(null)
  const pointed = useRef(null)
  pointed.current = at
  const [failed, setFailed] = useState(false)
  const drawn = JSON.stringify([days, series])

  useEffect(() => {
    const box = place.current
    let gone = false
    let plot = null
    const draw = uPlot => {
      plot?.destroy()
      plot = new uPlot(
        optionsOf(uPlot, box, { days, series, write, stacked, whole, bad, at: pointed.current, setAt }),
        dataOf(days, series, stacked),
        box,
      )
    }
    const resized = new ResizeObserver(() => plot?.setSize({ width: box.clientWidth, height }))
    const dark = matchMedia('(prefers-color-scheme: dark)')
    let redraw = () => {}
    loadLibrary().then(
      uPlot => {
        if (gone) return
        redraw = () => draw(uPlot)
        redraw()
        dark.addEventListener('change', redraw)
        resized.observe(box)
      },
      () => {
        library = null // the next chart tries again
        if (!gone) setFailed(true)
      },
    )
    return () => {
      gone = true
      dark.removeEventListener('change', redraw)
      resized.disconnect()
      plot?.destroy()
    }
  }, [drawn])

  const shown = at ?? days.length - 1
  return html`
    <p class="legend">
      <span class="legend-day">${dayName(days[shown])}</span>
      ${series.map(
        ({ name, values }, index) => html`
          <span key=${index} class="legend-item"><span class="swatch ${name === bad ? 'swatch-bad' : `swatch-${index}`}"></span>${series.length > 1 || name !== 'all' ? `${name} ` : ''}<strong>${values[shown] === null || values[shown] === undefined ? '–' : write(values[shown])}</strong></span>`,
      )}
    </p>
    ${failed && html`<p class="empty">The chart could not be loaded.</p>`}
    <div ref=${place} class="plot" role="img" aria-label=${`${label}. The table below has the totals.`}></div>`
}

/** When stacked, each series includes those below it; the tallest is drawn first. */
const dataOf = (days, series, stacked) => {
  const heights = series.map(({ values }, place) =>
    stacked
      ? values.map((_, day) => series.slice(0, place + 1).reduce((sum, one) => sum + (one.values[day] ?? 0), 0))
      : values,
  )
  return [days.map((_, day) => day), ...heights.reverse()]
}

const wholeSteps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map(step => step * 10 ** power)).flat()

const optionsOf = (uPlot, place, { days, series, write, stacked, whole, bad, at, setAt }) => {
  const colour = name => colourOf(place, name)
  const axis = { stroke: colour('--quiet'), font: '12px system-ui, sans-serif', ticks: { show: false } }
  const lines = series.map(({ name }, index) => {
    const stroke = colour(name === bad ? '--bad' : `--plot-${index}`)
    return stacked
      ? {
          stroke,
          fill: stroke,
          width: 0,
          paths: uPlot.paths.bars({ size: [0.7, 26], radius: 0.15 }),
          points: { show: false },
        }
      : { stroke, width: 2, spanGaps: true, points: { show: true, size: 5, fill: stroke } }
  })
  return {
    width: place.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 56,
        incrs: [1, 2, 3, 5, 7, 10, 14, 30],
        values: (_, splits) => splits.map(day => (days[day] === undefined ? '' : dayName(days[day]))),
      },
      {
        ...axis,
        grid: { stroke: colour('--line'), width: 1 },
        size: 62,
        ...(whole ? { incrs: wholeSteps } : {}),
        space: 36,
        values: (_, splits) => splits.map(value => (value === 0 ? '0' : write(value))),
      },
    ],
    series: [{}, ...lines.reverse()],
    hooks: {
      // Redrawn with new data while the pointer has not moved.
      ready: [plot => at !== null && plot.setCursor({ left: plot.valToPos(at, 'x'), top: 0 })],
      setCursor: [({ cursor }) => setAt(cursor.idx ?? null)],
    },
  }
}

/** A canvas cannot resolve CSS variables; an element can. */
const colourOf = (place, name) => {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  place.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
