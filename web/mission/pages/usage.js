// Usage by day: tokens, cost, time to first token and turns, in total or by channel, backend or source.
import { useState } from 'preact/hooks'
import { count, dollars, duration, localDay, plural, shiftDay, shortCount } from '../format.js'
import { useResource } from '../live.js'
import { Plot } from '../plot.js'
import { Card, Empty, Head, html, Loaded, Table } from '../ui.js'

const all = 'all'

export const Page = () => {
  const [days, setDays] = useState(30)
  const [by, setBy] = useState(all)
  const answer = useResource(`/api/usage?days=${days}`, { everyMs: 60_000 })
  return html`
    <${Head} title="Usage" about="Tokens, cost and latency by day.">
      <label class="field-label"><span class="unseen">Period</span>
        <select class="input" value=${days} onChange=${event => setDays(Number(event.target.value))}>
          <option value="7">7 days</option><option value="30">30 days</option><option value="90">90 days</option>
        </select></label>
      <label class="field-label"><span class="unseen">Group by</span>
        <select class="input" value=${by} onChange=${event => setBy(event.target.value)}>
          <option value=${all}>Total</option><option value="channel">By channel</option><option value="backend">By backend</option><option value="source">By source</option>
        </select></label>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ days: rows, names }) =>
        rows.length === 0
          ? html`<${Empty}>No usage in this period.</${Empty}>`
          : html`
            <${Totals} rows=${rows} days=${days} />
            <${Plots} rows=${rows} days=${days} by=${by} names=${names} />
            <${Breakdown} rows=${rows} by=${by} names=${names} />`}
    </${Loaded}>`
}

const Totals = ({ rows, days }) => {
  const total = sumOf(rows)
  const tiles = [
    ['Turns', count(total.turns), total.failed > 0 && `${count(total.failed)} failed`],
    ['Tokens', shortCount(total.tokens), `${shortCount(total.outputTokens)} output`],
    ['Cost', dollars(total.costUsd), total.costUsd !== null && `${dollars(total.costUsd / days)} per day`],
    ['Time to first token', total.firstWordMs === null ? '–' : duration(total.firstWordMs), 'on average'],
  ]
  return html`<dl class="tiles four">${tiles.map(
    ([name, value, more]) =>
      html`<div class="tile" key=${name}><dt>${name}</dt><dd><span class="value">${value}</span>${more && html` <span class="quiet">${more}</span>`}</dd></div>`,
  )}</dl>`
}

const Plots = ({ rows, days, by, names }) => {
  const dates = dayNames(rows, days)
  const byDay = Map.groupBy(rows, ({ day }) => day)
  const groups = by === all ? [null] : busiest(rows, by)
  const inGroup = (row, group) => group === null || row[by] === group || (group === others && !groups.includes(row[by]))
  const series = (measure, none) =>
    groups.map(group => ({
      name: group === null ? 'all' : wordsFor(by, group, names),
      values: dates.map(day => {
        const some = (byDay.get(day) ?? []).filter(row => inGroup(row, group))
        return some.length === 0 ? none : measure(sumOf(some))
      }),
    }))
  const named = (name, measure) => ({ ...series(measure, 0)[0], name })
  const tokens =
    by === all
      ? [named('input', sum => sum.inputTokens), named('output', sum => sum.outputTokens)]
      : series(sum => sum.tokens, 0)
  const turns =
    by === all
      ? [named('succeeded', sum => sum.turns - sum.failed), named('failed', sum => sum.failed)]
      : series(sum => sum.turns, 0)
  const cost = series(sum => sum.costUsd, 0)
  const hasCost = rows.some(row => row.costUsd !== null)
  return html`
    <div class="columns plots">
      <${Card} title="Tokens"><${Plot} label="Tokens by day" days=${dates} series=${tokens} write=${shortCount} stacked whole /></${Card}>
      <${Card} title="Cost">${hasCost ? html`<${Plot} label="Cost by day" days=${dates} series=${cost} write=${dollars} stacked />` : html`<${Empty}>These backends do not report their cost.</${Empty}>`}</${Card}>
      <${Card} title="Time to first token"><${Plot} label="Time to first token by day" days=${dates} series=${series(sum => sum.firstWordMs, null)} write=${duration} /></${Card}>
      <${Card} title="Turns"><${Plot} label="Turns by day" days=${dates} series=${turns} write=${count} stacked whole bad=${by === all ? 'failed' : null} /></${Card}>
    </div>`
}

const others = 'others'
/** The busiest groups; more colours would be hard to tell apart. */
const busiest = (rows, by) => {
  const turns = [...Map.groupBy(rows, row => row[by])].map(([name, some]) => ({ name, turns: sumOf(some).turns }))
  const names = turns.sort((a, b) => b.turns - a.turns).flatMap(({ name }) => name ?? [])
  return names.length === turns.length && names.length <= 5 ? names : [...names.slice(0, 4), others]
}

const wordsFor = (by, value, names) => {
  if (value === null || value === others) return `other ${by}s`
  if (by !== 'channel') return value
  return value === 'agent' ? 'sub-agents' : (names[value] ?? laneWords(value))
}

/** The id of an unnamed conversation is shortened. */
const laneWords = lane => lane.replace(':', ' ').replace(/\b([0-9a-f]{8})-[0-9a-f-]{27}$/, '$1')

/** Every day of the period, also those without turns. */
const dayNames = (rows, days) => {
  const last = [localDay(Date.now()), ...rows.map(({ day }) => day)].sort().at(-1)
  return Array.from({ length: days }, (_, place) => shiftDay(last, place - days + 1))
}

const sumOf = rows => {
  const add = pick => rows.reduce((sum, row) => sum + pick(row), 0)
  const costs = rows.filter(row => row.costUsd !== null)
  const spoke = add(row => row.spoke)
  return {
    turns: add(row => row.turns),
    failed: add(row => row.failed),
    inputTokens: add(row => row.inputTokens),
    outputTokens: add(row => row.outputTokens),
    tokens: add(row => row.inputTokens + row.outputTokens),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, row) => sum + row.costUsd, 0),
    firstWordMs: spoke === 0 ? null : add(row => row.spoke * (row.firstWordMs ?? 0)) / spoke,
  }
}

const titles = { backend: 'Backend', source: 'Source', channel: 'Channel' }

const Breakdown = ({ rows, by, names }) => {
  const parts = by === all ? ['backend', 'source'] : [by]
  const keyOf = row => JSON.stringify(parts.map(part => row[part]))
  const groups = [...Map.groupBy(rows, keyOf).values()]
    .map(some => ({ ...some[0], ...sumOf(some) }))
    .sort((a, b) => Number(a[by] === null) - Number(b[by] === null) || b.turns - a.turns)
  const columns = [
    ...parts.map(part => ({ title: titles[part], cell: row => wordsFor(part, row[part], names) })),
    { title: 'Turns', number: true, cell: row => count(row.turns) },
    { title: 'Failed', number: true, cell: row => count(row.failed) },
    { title: 'Input tokens', number: true, cell: row => shortCount(row.inputTokens) },
    { title: 'Output tokens', number: true, cell: row => shortCount(row.outputTokens) },
    { title: 'Cost', number: true, cell: row => dollars(row.costUsd) },
    {
      title: 'Time to first token',
      number: true,
      cell: row => (row.firstWordMs === null ? '–' : duration(row.firstWordMs)),
    },
  ]
  const what = `by ${parts.join(' and ')}`
  return html`
    <${Card} title=${`B${what.slice(1)}`} class="flush" more=${html`<span class="quiet">${plural(groups.length, 'row')}</span>`}>
      <${Table} label=${`Usage ${what}`} columns=${columns} rows=${groups} keyOf=${keyOf} />
    </${Card}>`
}
