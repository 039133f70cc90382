class Bethink < Formula
  desc "Gives coding agents a memory"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@SOURCES@
  def install
    bin.install "bin/bethink", "bin/bethinkd"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/completions/bethink.bash" => "bethink"
    zsh_completion.install "share/completions/bethink.zsh" => "_bethink"
    fish_completion.install "share/completions/bethink.fish"
  end

  service do
    run opt_bin/"bethinkd"
    keep_alive crashed: true
  end

  test do
    ENV["BETHINK_HOME"] = testpath/"home"
    system bin/"bethink", "remember", "Never deploy on Fridays"
    assert_match "Never deploy", shell_output("#{bin}/bethink recall 'may I deploy today?'")
    system bin/"bethink", "down"
  end
end
