// The markup of the chat. In Mission Control its ids get a prefix, so that they stay unique on the page.

const icons = {
  home: 'M3 10.500 10 4l7 6.500M5 9v7h10V9',
  list: 'M3 5.500h14M3 10h14M3 14.500h9',
  plus: 'M10 4v12M4 10h12',
  clip: 'm15.500 9-5.800 5.800a3.200 3.200 0 0 1-4.500-4.500l6.300-6.300a2.200 2.200 0 0 1 3.100 3.100l-6.200 6.200a1.100 1.100 0 0 1-1.600-1.600l5.200-5.200',
  down: 'M10 4v12M5 11l5 5 5-5',
  up: 'M10 16V4M5 9l5-5 5 5',
}
const icon = name => `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${icons[name]}"/></svg>`

const listButton = `
  <button type="button" id="chats-button" class="icon-button" aria-expanded="false" aria-controls="chats" aria-label="Chats">${icon('list')}</button>`
const newChat = `<button type="button" id="new-chat" class="button">${icon('plus')}New chat</button>`

/** On its own page the chat has its own bar; Mission Control already has one. */
const heads = {
  alone: `
    <header class="bar">
      ${listButton}
      <img src="/web/icon.svg" alt="" width="24" height="24">
      <h1>Aetheel</h1>
      <span id="connection" class="connection" role="status">connecting</span>
      <a class="to-mission" href="/">${icon('home')}Mission Control</a>
      ${newChat}
    </header>`,
  within: `
    <header class="chat-head">
      ${listButton}
      <h1 tabindex="-1">Chat</h1>
      <span id="connection" class="unseen" role="status">connecting</span>
      ${newChat}
    </header>`,
}

const chats = `
  <nav id="chats" class="chats drawer" aria-label="Chats">
    <label for="search" class="unseen">Search all chats</label>
    <input type="search" id="search" class="search" placeholder="Search" autocomplete="off" maxlength="200" dir="auto">
    <p id="found" class="quiet" role="status" hidden></p>
    <ul id="hits" aria-label="Search results" hidden></ul>
    <div id="list">
      <ul id="recent" aria-label="Chats"></ul>
      <button type="button" id="more-chats" class="link-button" hidden>Show older chats</button>
      <p id="no-recent" class="quiet" hidden></p>
    </div>
  </nav>
  <div id="shade" class="shade" hidden></div>`

const conversation = `
  <div id="scroll" class="scroll" tabindex="-1">
    <section id="welcome" class="welcome">
      <h2>How can I help?</h2>
      <p>Your agent runs on the machine where Aetheel is installed.</p>
    </section>
    <button type="button" id="older" class="older-button" hidden>Show earlier messages</button>
    <div role="log" aria-label="Conversation" aria-live="polite" aria-relevant="additions text"><ol id="log" class="log"></ol></div>
  </div>
  <div class="above-composer">
    <button type="button" id="to-end" class="to-end" hidden>${icon('down')}Latest</button>
  </div>
  <div id="banner" class="banner" hidden><span id="banner-text"></span><button type="button" id="try-now" class="link-button">Try now</button></div>
  <form id="composer" class="composer" aria-label="Message">
    <div id="editing" class="editing" hidden><span>Editing a queued message</span><button type="button" id="edit-discard" class="link-button">Discard</button></div>
    <ul id="attached" class="attached" aria-label="Attachments" hidden></ul>
    <div class="field">
      <button type="button" id="attach" class="round plain" aria-label="Attach files" title="Attach files">${icon('clip')}</button>
      <input type="file" id="files" multiple hidden aria-label="Files">
      <label for="box" class="unseen">Your message</label>
      <textarea id="box" rows="1" dir="auto" placeholder="Write a message" autocomplete="off" enterkeyhint="send" aria-describedby="hint"></textarea>
      <button type="button" id="stop" class="round stop" aria-label="Stop" title="Stop (Esc)" hidden><svg viewBox="0 0 20 20" aria-hidden="true"><rect x="6" y="6" width="8" height="8" rx="1.5"/></svg></button>
      <button type="submit" id="send" class="round" aria-label="Send" title="Send (Enter)">${icon('up')}</button>
    </div>
    <p id="hint" class="hint">Enter to send, Shift+Enter for a new line</p>
  </form>
  <div id="announcer" class="unseen" role="status"></div>`

/**
 * Puts the markup of the chat into an element; returns a function that finds its parts by name.
 * @param {HTMLElement} place
 * @param {'alone' | 'within'} where
 * @returns {(name: string) => HTMLElement}
 */
export const buildParts = (place, where) => {
  const prefix = where === 'alone' ? '' : 'chat-'
  const main = where === 'alone' ? ['main', ''] : ['section', ' aria-label="Conversation"']
  const markup = `${heads[where]}${chats}<${main[0]} class="conversation"${main[1]}>${conversation}</${main[0]}>`
  place.classList.add('chat')
  place.innerHTML = markup.replaceAll(/\b(id|for|aria-controls|aria-describedby)="/g, `$1="${prefix}`)
  return name => {
    const element = place.querySelector(`#${prefix}${name}`)
    if (element === null) throw new Error(`the chat has no part ${name}`)
    return element
  }
}
