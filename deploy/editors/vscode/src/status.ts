/** The status bar item: how full the context window of the newest session is. */

import * as vscode from 'vscode';

import type { Board } from './board';
import { line, tokens } from './text';

/** Colours, defined by the theme, of levels at which a person may want to act. */
const COLOURS: Readonly<Record<string, string>> = {
  warning: 'statusBarItem.warningBackground',
  auto: 'statusBarItem.warningBackground',
  blocking: 'statusBarItem.errorBackground',
};

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('bethink.window', vscode.StatusBarAlignment.Right, 90);

  constructor(private readonly board: Board) {
    this.item.name = 'bethink: context window of the newest session';
    this.draw();
    this.item.show();
  }

  draw(): void {
    const { text, tooltip, command, level } = this.words();
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.command = command;
    const colour = COLOURS[level ?? ''];
    this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    this.item.accessibilityInformation = { label: tooltip.replace(/\n/g, ', ') };
  }

  dispose(): void {
    this.item.dispose();
  }

  private words(): Words {
    const { state, fault, window, session } = this.board;
    switch (state) {
      case 'starting':
        return { text: '$(sync~spin) bethink', tooltip: 'connecting to the bethink daemon', command: 'bethink.refresh' };
      case 'down':
        return { text: '$(circle-slash) bethink', tooltip: `${line(fault)}\nClick to start it.`, command: 'bethink.start' };
      case 'failed':
        return { text: '$(warning) bethink', tooltip: line(fault), command: 'bethink.refresh' };
    }
    if (!window || !session) {
      return { text: '$(circle-outline) bethink', tooltip: 'no sessions in this folder yet', command: 'bethink.dashboard' };
    }
    const percent = Math.round((100 * window.tokens) / Math.max(window.window, 1));
    const level = line(window.level, 20);
    const tooltip = [
      line(session.title ?? 'Untitled session', 80),
      `${tokens(window.tokens)} of ${tokens(window.window)} tokens: ${level}`,
      `${tokens(window.remaining)} tokens left until a compaction`,
    ].join('\n');
    return { text: `$(layers) ${percent}% ${level}`, tooltip, command: 'bethink.dashboard', level };
  }
}

interface Words {
  text: string;
  tooltip: string;
  command: string;
  level?: string;
}
