package guard

import "slices"

// Extension is one extension of files that can be run.
type Extension struct {
	Ext  string // as it is usually written, with its dot
	MIME string // the type that opens it
	Why  string // what runs it
}

// Extensions are the ones that are refused, for documents and doctor.
func Extensions() []Extension { return slices.Clone(extensions) }

// extensions is the table. Not in it, on purpose: source code of any language (.js .py
// .rb .pl .vb .applescript); .out, .bin and .o, which say nothing; .ko, which is also
// Korean; .inf, which runs only on being installed; documents that may hold macros,
// which ask first.
var extensions = []Extension{
	{Ext: ".exe", MIME: portable, Why: "Windows runs it"},
	{Ext: ".dll", MIME: portable, Why: "Windows loads it into programs, also because it lies beside them"},
	{Ext: ".sys", MIME: portable, Why: "a driver of Windows"},
	{Ext: ".scr", MIME: portable, Why: "a screen saver is a program under another name"},
	{Ext: ".cpl", MIME: portable, Why: "a library that the control panel runs on a double click"},
	{Ext: ".ocx", MIME: portable, Why: "an ActiveX control is a library"},
	{Ext: ".drv", MIME: portable, Why: "a driver of Windows"},
	{Ext: ".efi", MIME: portable, Why: "firmware runs it before any system starts"},
	{Ext: ".xll", MIME: portable, Why: "a library that Excel runs on opening"},
	{Ext: ".pyd", MIME: portable, Why: "a library that Python loads on Windows"},
	{Ext: ".com", MIME: dos, Why: "Windows runs it, whatever its content is a program for"},
	{Ext: ".pif", MIME: dos, Why: "Windows runs it as a program, and hides the extension"},
	{Ext: ".bat", MIME: batch, Why: "Windows runs it line by line"},
	{Ext: ".cmd", MIME: batch, Why: "Windows runs it line by line"},
	{Ext: ".msi", MIME: installer, Why: "Windows installs it, with its custom actions"},
	{Ext: ".msp", MIME: installer, Why: "a patch that Windows installs"},
	{Ext: ".mst", MIME: installer, Why: "a transform changes what an installation does"},
	{Ext: ".msix", MIME: "application/msix", Why: "Windows installs it"},
	{Ext: ".msixbundle", MIME: "application/msixbundle", Why: "Windows installs it"},
	{Ext: ".appx", MIME: "application/appx", Why: "Windows installs it"},
	{Ext: ".appxbundle", MIME: "application/appxbundle", Why: "Windows installs it"},
	{Ext: ".appinstaller", MIME: "application/appinstaller", Why: "Windows installs what it points at"},
	{Ext: ".application", MIME: clickOnce, Why: "ClickOnce installs and runs what it points at"},
	{Ext: ".appref-ms", MIME: clickOnce, Why: "ClickOnce runs what it points at"},
	{Ext: ".gadget", MIME: "application/x-windows-gadget", Why: "a desktop gadget is script with full rights"},
	{Ext: ".diagcab", MIME: "application/x-diagcab", Why: "Windows runs the troubleshooting scripts in it"},
	{Ext: ".ps1", MIME: powershell, Why: "PowerShell runs it"},
	{Ext: ".psm1", MIME: powershell, Why: "PowerShell loads it by the name of a command in it"},
	{Ext: ".ps1xml", MIME: powershell, Why: "PowerShell runs the script blocks in it on display"},
	{Ext: ".vbs", MIME: vbscript, Why: "Windows Script Host runs it on a double click"},
	{Ext: ".vbe", MIME: vbscript, Why: "the same, scrambled"},
	{Ext: ".jse", MIME: scriptHost, Why: "JScript scrambled for Windows Script Host, which no editor reads"},
	{Ext: ".wsf", MIME: scriptHost, Why: "Windows Script Host runs it on a double click"},
	{Ext: ".wsh", MIME: scriptHost, Why: "Windows Script Host runs the script that it points at"},
	{Ext: ".wsc", MIME: scriptHost, Why: "Windows registers it as a component"},
	{Ext: ".sct", MIME: scriptHost, Why: "regsvr32 runs it, from the network too"},
	{Ext: ".hta", MIME: htmlApplication, Why: "a page that Windows runs with full rights"},
	{Ext: ".chm", MIME: help, Why: "a help file runs the script in its pages"},
	{Ext: ".hlp", MIME: "application/winhlp", Why: "a help file runs the macros in it"},
	{Ext: ".msc", MIME: "application/x-ms-console", Why: "a console of Windows runs the tasks in it"},
	{Ext: ".reg", MIME: "text/x-ms-regedit", Why: "a double click writes it into the registry, where programs to start are kept"},
	{Ext: ".job", MIME: "application/x-windows-task", Why: "a scheduled task"},
	{Ext: ".lnk", MIME: shortcut, Why: "a shortcut holds a command line"},
	{Ext: ".url", MIME: "application/x-mswinurl", Why: "a shortcut that may point at a program"},
	{Ext: ".scf", MIME: "application/x-windows-explorer-command", Why: "Explorer acts on it when its folder is shown"},
	{Ext: ".settingcontent-ms", MIME: "application/x-windows-settings", Why: "a shortcut that holds a command line"},

	{Ext: ".sh", MIME: shell, Why: "a shell script"},
	{Ext: ".bash", MIME: shell, Why: "a shell script"},
	{Ext: ".dash", MIME: shell, Why: "a shell script"},
	{Ext: ".ash", MIME: shell, Why: "a shell script"},
	{Ext: ".zsh", MIME: shell, Why: "a shell script"},
	{Ext: ".ksh", MIME: shell, Why: "a shell script"},
	{Ext: ".csh", MIME: cshell, Why: "a shell script"},
	{Ext: ".tcsh", MIME: cshell, Why: "a shell script"},
	{Ext: ".fish", MIME: fish, Why: "a shell script"},
	{Ext: ".command", MIME: shell, Why: "macOS runs it in a terminal on a double click"},
	{Ext: ".tool", MIME: shell, Why: "macOS runs it in a terminal on a double click"},
	{Ext: ".run", MIME: "application/x-makeself", Why: "an installer that unpacks and runs itself"},
	{Ext: ".desktop", MIME: desktopEntry, Why: "a launcher holds a command line"},

	{Ext: ".so", MIME: elf, Why: "a library that programs load"},
	{Ext: ".elf", MIME: elf, Why: "a program of Linux"},
	{Ext: ".node", MIME: "application/x-sharedlib", Why: "a library that node loads"},
	{Ext: ".AppImage", MIME: appImage, Why: "a program of Linux in one file"},
	{Ext: ".deb", MIME: debian, Why: "a package with scripts that run as root"},
	{Ext: ".rpm", MIME: redhat, Why: "a package with scripts that run as root"},
	{Ext: ".apk", MIME: android, Why: "a package of Android; of Alpine, with scripts that run as root"},
	{Ext: ".snap", MIME: "application/vnd.snap", Why: "a package with programs"},
	{Ext: ".flatpak", MIME: "application/vnd.flatpak", Why: "a package with programs"},
	{Ext: ".flatpakref", MIME: "application/vnd.flatpak.ref", Why: "a click installs what it points at"},

	{Ext: ".app", MIME: "application/x-apple-application", Why: "macOS runs a folder of this name"},
	{Ext: ".dylib", MIME: mach, Why: "a library that programs load"},
	{Ext: ".kext", MIME: mach, Why: "a driver of macOS"},
	{Ext: ".pkg", MIME: applePackage, Why: "an installer of macOS with scripts that run as root"},
	{Ext: ".mpkg", MIME: applePackage, Why: "several such installers"},
	{Ext: ".dmg", MIME: diskImage, Why: "a disk image that programs come in"},
	{Ext: ".terminal", MIME: "application/x-apple-terminal", Why: "settings of Terminal hold a command to run"},
	{Ext: ".scpt", MIME: "application/x-applescript", Why: "a compiled AppleScript, which no editor of text reads"},
	{Ext: ".workflow", MIME: "application/x-apple-workflow", Why: "an Automator workflow may run shell scripts"},

	{Ext: ".jar", MIME: jar, Why: "a built Java program"},
	{Ext: ".class", MIME: class, Why: "compiled Java"},
	{Ext: ".jnlp", MIME: "application/x-java-jnlp-file", Why: "Java Web Start runs what it points at"},
	{Ext: ".dex", MIME: dalvik, Why: "compiled code of Android"},
	{Ext: ".wasm", MIME: wasm, Why: "compiled WebAssembly"},
	{Ext: ".pyc", MIME: bytecode, Why: "Python may prefer it to the source that a person reads"},
	{Ext: ".pyo", MIME: bytecode, Why: "Python may prefer it to the source that a person reads"},
	{Ext: ".pyz", MIME: "application/x-pyz", Why: "a Python program packed into an archive"},
	{Ext: ".pyzw", MIME: "application/x-pyz", Why: "a Python program packed into an archive"},
}

// The types that more than one row or table speaks of.
const (
	portable        = "application/vnd.microsoft.portable-executable"
	dos             = "application/x-dos-program"
	batch           = "application/x-bat"
	installer       = "application/x-msi"
	clickOnce       = "application/x-ms-application"
	powershell      = "application/x-powershell"
	vbscript        = "text/vbscript"
	scriptHost      = "application/x-windows-script"
	htmlApplication = "application/hta"
	help            = "application/vnd.ms-htmlhelp"
	shortcut        = "application/x-ms-shortcut"
	shell           = "application/x-sh"
	cshell          = "application/x-csh"
	fish            = "application/x-fish"
	desktopEntry    = "application/x-desktop"
	elf             = "application/x-elf"
	appImage        = "application/vnd.appimage"
	debian          = "application/vnd.debian.binary-package"
	redhat          = "application/x-rpm"
	android         = "application/vnd.android.package-archive"
	mach            = "application/x-mach-binary"
	applePackage    = "application/vnd.apple.installer+xml"
	diskImage       = "application/x-apple-diskimage"
	jar             = "application/java-archive"
	class           = "application/java-vm"
	dalvik          = "application/vnd.android.dex"
	wasm            = "application/wasm"
	bytecode        = "application/x-python-bytecode"
	python          = "text/x-python"
	javascript      = "text/javascript"
	script          = "text/x-script"
)

// otherNames are names of types in use elsewhere.
var otherNames = map[string]string{
	"text/x-sh":                                   shell,
	"text/x-shellscript":                          shell,
	"application/x-shellscript":                   shell,
	"application/x-msdownload":                    portable,
	"application/x-dosexec":                       portable,
	"application/x-executable":                    elf,
	"application/x-pie-executable":                elf,
	"application/javascript":                      javascript,
	"application/x-python":                        python,
	"application/x-msdos-program":                 dos,
	"application/x-ms-installer":                  installer,
	"application/x-debian-package":                debian,
	"application/vnd.debian.binary-package+x-deb": debian,
	"application/x-redhat-package-manager":        redhat,
	"application/x-java-archive":                  jar,
	"application/x-xar":                           applePackage,
}
